import { RedisAway, RedisRefused } from './reply.ts';

const REDIS_MIN = [7, 0] as const;
const VALKEY_MIN = [7, 2] as const;

/** A clock difference that makes log lines of several machines hard to compare. */
const CLOCK_DIFFERENCE_MAX_MS = 5_000;

/** A usable server. */
interface UsableServer {
  /** Identifies the process: another one after each start. */
  readonly serverId: string;
  /** For the operator. */
  readonly warnings: readonly string[];
}

/**
 * Reads a server's reply to `INFO`. Throws `RedisRefused` for a server that cannot be used, and `RedisAway` for one
 * that cannot be used yet.
 */
export function checkServer(info: string): UsableServer {
  const fields = fieldsOf(info);
  const valkey = fields.get('valkey_version');
  const number = valkey ?? fields.get('redis_version') ?? '';
  const version = versionOf(fields);
  const least = valkey === undefined ? REDIS_MIN : VALKEY_MIN;
  if (!isAtLeast(number, least)) {
    throw new RedisRefused(`${version} is too old: Redis 7.0 or Valkey 7.2 is needed`);
  }
  const mode = fields.get('server_mode') ?? fields.get('redis_mode');
  if (mode === 'cluster') {
    throw new RedisRefused('Redis Cluster is not supported: give the addresses of single servers');
  }
  if (fields.get('role') === 'slave') throw new RedisAway('the server is a replica', false);
  if (fields.get('loading') === '1') throw new RedisAway('Redis is loading its data', false);
  return { serverId: fields.get('run_id') ?? '', warnings: evictionWarnings(fields) };
}

/** Reads the reply to `INFO`. */
export function fieldsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
}

/** The name and version of a server, for people. */
export function versionOf(fields: ReadonlyMap<string, string>): string {
  const valkey = fields.get('valkey_version');
  return valkey === undefined ? `Redis ${fields.get('redis_version') ?? ''}` : `Valkey ${valkey}`;
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

/** A server without a memory limit evicts nothing, whatever its policy. */
function evictionWarnings(fields: ReadonlyMap<string, string>): readonly string[] {
  const policy = fields.get('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction' || fields.get('maxmemory') === '0') return [];
  return [
    `Redis may evict members and subscription counts when its memory is full, because maxmemory-policy is ${policy}. Set it to noeviction`,
  ];
}

/** Warns if Redis' clock differs from ours by several seconds. `redisTime` is the reply to `TIME`. */
export function clockWarnings(redisTime: unknown, nowMs: number): readonly string[] {
  if (!Array.isArray(redisTime)) return [];
  const [seconds, microseconds] = redisTime.map(Number);
  const differenceMs = (seconds ?? 0) * 1000 + (microseconds ?? 0) / 1000 - nowMs;
  if (!(Math.abs(differenceMs) > CLOCK_DIFFERENCE_MAX_MS)) return [];
  const word = differenceMs > 0 ? 'ahead of' : 'behind';
  return [
    `The clock of Redis is ${Math.round(Math.abs(differenceMs) / 1000)} s ${word} the clock of this machine`,
  ];
}
