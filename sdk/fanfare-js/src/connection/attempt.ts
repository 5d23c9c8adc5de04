import type { Config } from '../options.ts';
import type { TransportOptions } from '../transports/transport-connection.ts';
import type { Handshake } from './handshake.ts';

/** A running attempt. */
export interface Runner {
  abort(): void;
  forceMinPriority?(priority: number): void;
}

/** A way to a handshake. */
export interface Strategy {
  isSupported(): boolean;
  /** Calls back with an error when the attempt has failed, or with the handshake, whatever that says. */
  connect(minPriority: number, callback: (error: unknown, handshake?: Handshake) => void): Runner;
}

/** Makes an attempt to connect by one transport; enabled or not by its name. */
export type DefineTransport = (
  config: Pick<Config, 'enabledTransports' | 'disabledTransports'>,
  name: string,
  type: string,
  priority: number,
  options: TransportOptions,
) => Strategy;
