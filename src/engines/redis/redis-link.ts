import type { Commands } from './link/commands.ts';
import type { Away } from './link/redis-server.ts';
import type { Subscriptions } from './link/subscriptions.ts';
import type { WaitingEvents } from './waiting-events.ts';

/** What the engine needs from a `RedisServer`. */
export interface RedisLink {
  /** `undefined` while Redis works. */
  readonly away: Away | undefined;
  /** The host and port of the server that is used. */
  readonly master: string;
  /** Identifies the Redis process that receives the commands. */
  readonly serverId: string;
  /** Identifies the data that it has. Other data may lack the last writes. */
  readonly dataId: string;
  readonly commands: Pick<Commands, 'run' | 'script' | 'waiting'>;
  readonly subscriptions: Pick<Subscriptions, 'follow' | 'unfollow'>;
  /** Where the events of all loops of the process wait, if they share the link. */
  readonly outbox?: WaitingEvents;
  close(): Promise<void>;
}
