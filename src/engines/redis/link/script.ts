import { createHash } from 'node:crypto';

/** A Lua script, which Redis runs by its hash. */
export class RedisScript {
  readonly source: string;
  readonly sha1: string;

  constructor(source: string) {
    this.source = source;
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }
}
