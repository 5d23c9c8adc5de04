import { messageOf } from '../../runtime/error-code.ts';
import type { RedisListener } from './link/redis-server.ts';
import type { RedisLink } from './redis-link.ts';

/** One of the Redis servers of an engine. */
export interface RedisEngineServer {
  /** The name of the server, which is the same on all nodes. */
  readonly name: string;
  /** The number of the database. Redis delivers published messages to all databases. */
  readonly database: number;
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
