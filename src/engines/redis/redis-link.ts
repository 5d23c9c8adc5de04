import type { Commands } from './link/commands.ts';
import type { Away } from './link/redis-server.ts';
import type { Subscriptions } from './link/subscriptions.ts';

/** What the engine needs of a `RedisServer`. */
export interface RedisLink {
  /** `undefined` while Redis can be used. */
  readonly away: Away | undefined;
  /** The process of Redis that commands go to. Another one may not have all that was written. */
  readonly serverId: string;
  readonly commands: Pick<Commands, 'run' | 'script' | 'waiting'>;
  readonly subscriptions: Pick<Subscriptions, 'follow' | 'unfollow'>;
  close(): Promise<void>;
}
