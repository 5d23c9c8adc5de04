import { createHash } from 'node:crypto';

/** A Lua script, which Redis runs by its hash. */
export class RedisScript {
  readonly source: string;
  readonly sha1: string;
  private inCluster: RedisScript | undefined;
  private withTime: RedisScript | undefined;

  constructor(source: string) {
    this.source = source;
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  /** The same script for a slot of a cluster, whose streams have a command of their own. */
  get sharded(): RedisScript {
    this.inCluster ??= new RedisScript(this.source.replaceAll("'PUBLISH'", "'SPUBLISH'"));
    return this.inCluster;
  }

  /** The same script where Redis does not say the time: it is one more argument, the last one. Microseconds since 1970. */
  get timed(): RedisScript {
    this.withTime ??= new RedisScript(
      GIVEN_TIME + this.source.replaceAll("try('TIME')", '').replaceAll(TIME, 'givenTime()'),
    );
    return this.withTime;
  }
}

const TIME = /\b(?:redis\.)?call\('TIME'\)/g;

/** Calls come from several servers, so the time of one may be before that of the last one. It never goes back. */
const GIVEN_TIME = `
local given, latest = tonumber(table.remove(ARGV)), nil
local function givenTime()
  if not latest then
    latest = math.max(given, tonumber(redis.call('GET', KEYS[1] .. 'z') or '0'))
    redis.call('SET', KEYS[1] .. 'z', string.format('%.0f', latest))
  end
  return {string.format('%.0f', math.floor(latest / 1000000)), string.format('%.0f', latest % 1000000)}
end
`;
