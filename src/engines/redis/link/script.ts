import { createHash } from 'node:crypto';

/** A Lua script, which Redis runs by its hash. */
export class RedisScript {
  readonly source: string;
  readonly sha1: string;
  private inCluster: RedisScript | undefined;

  constructor(source: string) {
    this.source = source;
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  /** The same script for a slot of a cluster, whose streams have a command of their own. */
  get sharded(): RedisScript {
    this.inCluster ??= new RedisScript(this.source.replaceAll("'PUBLISH'", "'SPUBLISH'"));
    return this.inCluster;
  }
}
