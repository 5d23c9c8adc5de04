import type { Config } from '../../config/schema.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import type {
  ListenerAddress,
  LoopToBackground,
  RealtimeState,
  ToBackground,
} from '../link/messages.ts';

/** What the background loop is started with. */
export type BackgroundStart = Extract<ToBackground, { type: 'start' }>;

/** The running background loop. */
export interface Background {
  /** Stores the state of the realtime loops, and the address that they listen on. */
  realtimeIs(state: RealtimeState, channels: ListenerAddress | undefined): void;
  /** Handles a message of a realtime loop. */
  receive(loop: number, message: LoopToBackground): void;
  /**
   * Applies the tenants of a reloaded configuration, and the certificate of the push listener. Settles when all loops
   * serve them. Never rejects.
   */
  reload(config: Config, tls: Certificate | undefined): Promise<void>;
  stop(): Promise<void>;
}
