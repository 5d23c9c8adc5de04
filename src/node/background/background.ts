import type { Config } from '../../config/schema.ts';
import type {
  ListenerAddress,
  LoopToBackground,
  RealtimeState,
  ToBackground,
} from '../link/messages.ts';
import type { TlsFiles } from '../tls-files.ts';

/** What the background loop is started with. */
export type BackgroundStart = Extract<ToBackground, { type: 'start' }>;

/** The running background loop. */
export interface Background {
  /** Stores the state of the realtime loops, and the address that they listen on. */
  setRealtimeState(state: RealtimeState, channels: ListenerAddress | undefined): void;
  /** Handles a message of a realtime loop. */
  receive(loop: number, message: LoopToBackground): void;
  /**
   * Applies the tenants of a reloaded configuration, the certificate of the push listener, and those for other
   * servers. Settles when all loops serve the tenants. Never rejects.
   */
  reload(config: Config, tlsFiles: TlsFiles): Promise<void>;
  stop(): Promise<void>;
}
