import { messageOf } from '../../runtime/error-code.ts';
import type { Place } from './layout.ts';
import type { RedisListener } from './link/redis-server.ts';
import type { RedisLink } from './redis-link.ts';

/** One of the Redis servers of an engine, or one of the slots of its cluster. */
export interface RedisEngineServer {
  /** The name of the server, which is the same on all nodes. */
  readonly name: string;
  readonly place: Place;
  open(events: RedisListener): Promise<RedisLink>;
}

/** A server cannot be used at the start; `cause` is the reason. */
export class ServerUnusable extends Error {
  /** The position of the server in the list. */
  readonly index: number;

  constructor(index: number, cause: unknown) {
    super(messageOf(cause), { cause });
    this.name = 'ServerUnusable';
    this.index = index;
  }
}
