import { RedisAway, RedisRefused, RedisUnsuitable } from './reply.ts';

const REDIS_MIN = [7, 0] as const;
const VALKEY_MIN = [7, 2] as const;

/** A clock difference that makes log lines of several machines hard to compare. */
const CLOCK_DIFFERENCE_MAX_MS = 5_000;

/** What tells one process of Redis from another one, and what its data come from. */
export interface RedisProcess {
  /** Another one after each start; empty where the service does not say. */
  readonly id: string;
  /** Identifies its data and all later changes of them. */
  readonly dataId: string;
  /** That of the data which it had when it was promoted last; only zeros if it was not. */
  readonly formerDataId: string;
  /** How long it has been running. Seconds. */
  readonly ageSeconds: number;
  /** Its clock. Microseconds since 1970. */
  readonly timeMicroseconds: number;
}

/** A usable server. */
interface UsableServer {
  readonly process: RedisProcess;
  /** For the operator. */
  readonly warnings: readonly string[];
}

/**
 * Reads a server's reply to `INFO`. Throws `RedisRefused` or `RedisUnsuitable` for a server that cannot be used, and
 * `RedisAway` for one that cannot be used yet.
 */
export function checkServer(info: string, { isCluster = false } = {}): UsableServer {
  const fields = fieldsOf(info);
  const valkey = fields.get('valkey_version');
  const number = valkey ?? fields.get('redis_version') ?? '';
  const version = versionOf(fields);
  const least = valkey === undefined ? REDIS_MIN : VALKEY_MIN;
  if (!isAtLeast(number, least)) {
    throw new RedisRefused(`${version} is too old: Redis 7.0 or Valkey 7.2 is needed`);
  }
  const mode = fields.get('server_mode') ?? fields.get('redis_mode');
  if (mode === 'cluster' && !isCluster) {
    throw new RedisUnsuitable(
      'this Redis is a cluster: begin the URL with redis+cluster:// (TLS: rediss+cluster://)',
    );
  }
  // A service that does not say it has shown its slots.
  if (mode !== undefined && mode !== 'cluster' && isCluster) throw notACluster();
  if (fields.get('role') === 'slave') throw new RedisAway('the server is a replica', false);
  if (fields.get('loading') === '1') throw new RedisAway('Redis is loading its data', false);
  const process = {
    id: fields.get('run_id') ?? '',
    dataId: fields.get('master_replid') ?? '',
    formerDataId: fields.get('master_replid2') ?? '',
    ageSeconds: Number(fields.get('uptime_in_seconds') ?? 0),
    timeMicroseconds: Number(fields.get('server_time_usec') ?? 0),
  };
  return { process, warnings: evictionWarnings(fields) };
}

/** A server that is asked as one of a cluster is none. */
export function notACluster(): RedisUnsuitable {
  return new RedisUnsuitable(
    'this Redis is not a cluster: begin the URL with redis:// (TLS: rediss://)',
  );
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

/**
 * Warns if Redis' clock differs from ours by several seconds. `redisTime` is the reply to `TIME`, or something else where
 * that is refused.
 */
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
