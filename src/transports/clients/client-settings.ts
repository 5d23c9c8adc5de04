import type { AddressLimits } from './addresses/address-rates.ts';
import type { RefusalCloseCode } from './closing/close-codes.ts';
import type { HeartbeatTimes } from './closing/heartbeat.ts';

export interface ClientSettings extends HeartbeatTimes {
  /** 0: no limit. */
  readonly framesPerSecond: number;
  readonly addressLimits: AddressLimits;
  readonly sendBufferBytes: number;
  /** The limit of bytes of frames that wait for their turn. The default is that of a machine with plenty of memory. */
  readonly frameBytes?: number | undefined;
  readonly authorizationTimeoutSeconds: number;
}

/** What is counted of connections. */
export interface ClientMeter {
  readonly count: {
    (counter: 'connectionsRefused', by: number, why: RefusalCloseCode | 'address'): void;
    (counter: 'grantsEnded', by: number, why: 'expired' | 'revoked'): void;
    (
      counter:
        | 'connectionsOpened'
        | 'slowConnectionsClosed'
        | 'floodingConnectionsClosed'
        | 'messagesReceived'
        | 'receivedBytes',
      by?: number,
    ): void;
  };
}
