import type { Commands } from './link/commands.ts';
import type { Away } from './link/redis-server.ts';
import type { Subscriptions } from './link/subscriptions.ts';

/** What the engine needs of a `RedisServer`. */
export interface RedisLink {
  /** `undefined` while Redis can be used. */
  readonly away: Away | undefined;
  readonly commands: Pick<Commands, 'run' | 'script' | 'waiting'>;
  readonly subscriptions: Pick<Subscriptions, 'follow' | 'unfollow'>;
  close(): Promise<void>;
}
