import { messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { checkSlots, describeCluster, slotsByMaster } from './examine-slots.ts';
import { layoutKey, type Place, placeKeys, refusal } from './layout.ts';
import { parseRedisUrl, type RedisEndpoint, serverName } from './link/address.ts';
import { checkServer, clockWarnings, fieldsOf, versionOf } from './link/check-server.ts';
import type { SlotMap } from './link/cluster/slot-map.ts';
import type { RedisConnection, RedisConnectionOwner } from './link/connection.ts';
import { RedisConnector, type RedisTls, type SentinelLogin } from './link/connector.ts';
import { encodeCommand } from './link/encode-command.ts';
import { lacksTimeOnly, PROBE, refusalIn } from './link/probe.ts';
import { RedisRefused, RedisUnsuitable } from './link/reply.ts';
import type { RedisScript } from './link/script.ts';
import { failed, ok, type Result, warning } from './result.ts';
import { ALL_SCRIPTS } from './scripts/all-scripts.ts';

/** The result of one check. */
export type RedisFinding = Result & {
  readonly name:
    | 'redis'
    | 'redis-sentinels'
    | 'redis-slots'
    | 'redis-memory'
    | 'redis-persistence'
    | 'redis-clock'
    | 'redis-layout'
    | 'redis-scripts'
    | 'redis-publish'
    | 'redis-connections';
};

export interface ExamineRedisOptions {
  /** As configured. */
  readonly urls: readonly string[];
  readonly keyPrefix: string;
  readonly tls: RedisTls;
  readonly sentinelLogin: SentinelLogin;
  /** The timeout of each step. */
  readonly timeoutMs: number;
}

const REPAIR = 'Change the setting, or the configuration of Redis, as described.';

/** The number of timed answers. The fastest one counts. */
const ATTEMPTS = 5;
/** A slower answer delays each event noticeably. */
const SLOW_MS = 20;
/** From this share of memory or connections on, raising the limit is advised. */
const NEARLY_FULL = 0.8;

/** The input of a check. */
interface Site {
  readonly options: ExamineRedisOptions;
  /** The place of the server in the list, or of one of its slots. */
  readonly index: number;
  readonly place: Place;
  readonly connection: RedisConnection;
  readonly info: string;
  connect(owner: RedisConnectionOwner): Promise<RedisConnection>;
}

/** The checks of a reachable server, in order. */
const checks: Readonly<
  Record<
    Exclude<RedisFinding['name'], 'redis' | 'redis-sentinels' | 'redis-slots'>,
    (site: Site) => Promise<Result> | Result
  >
> = {
  'redis-memory': checkMemory,
  'redis-persistence': checkPersistence,
  'redis-clock': checkClock,
  'redis-layout': checkLayout,
  'redis-scripts': checkScripts,
  'redis-publish': checkPublish,
  'redis-connections': checkConnections,
};

/** Examines each Redis server the way a node uses it. What it writes there, it removes again. */
export async function* examineRedis(options: ExamineRedisOptions): AsyncGenerator<RedisFinding> {
  for (const [index, url] of options.urls.entries()) {
    const { tls, sentinelLogin, timeoutMs: deadlineMs } = options;
    const base = { log: SILENT, timers: monotonicTimers, deadlineMs };
    let connector: RedisConnector;
    try {
      connector = new RedisConnector({
        ...base,
        url,
        tls: () => tls,
        sentinelLogin: () => sentinelLogin,
      });
    } catch (error) {
      const why = unreachable(error);
      yield { name: 'redis', ...why, detail: `${serverName(url)}: ${why.detail}` };
      continue;
    }
    const name = serverName(url);
    if (connector.isCluster) yield* examineCluster(options, { name, connector });
    else yield* of(name, examineServer(options, { index, connector }));
  }
}

/** Says of which server findings are. */
async function* of(
  server: string,
  findings: AsyncIterable<RedisFinding>,
): AsyncGenerator<RedisFinding> {
  for await (const finding of findings) {
    yield { ...finding, detail: `${server}: ${finding.detail}` };
  }
}

async function* examineServer(
  options: ExamineRedisOptions,
  { index, connector }: { readonly index: number; readonly connector: RedisConnector },
): AsyncGenerator<RedisFinding> {
  using connections = new DisposableStack();
  let site: Site;
  try {
    if (connector.hasSentinels) {
      yield { name: 'redis-sentinels', ...(await checkSentinels(connector)) };
    }
    const place = { database: parseRedisUrl(options.urls[index] ?? '')?.db ?? 0 };
    const primary = await connector.findPrimary();
    const at = { connector, endpoint: primary, connections };
    site = { options, index, place, ...(await openSite(at)) };
    yield { name: 'redis', ...(await checkAnswer(site)) };
  } catch (error) {
    yield { name: 'redis', ...unreachable(error) };
    return;
  }
  yield* checkAll(site);
}

/** Examines the cluster, and then each master that has slots. */
async function* examineCluster(
  options: ExamineRedisOptions,
  { name, connector }: { readonly name: string; readonly connector: RedisConnector },
): AsyncGenerator<RedisFinding> {
  using connections = new DisposableStack();
  let map: SlotMap;
  const sites: [at: string, site: Site][] = [];
  try {
    map = await connector.clusterMap().newest();
    for (const [endpoint, [first]] of slotsByMaster(map)) {
      const { index, tag } = first;
      const at = { connector, endpoint, connections };
      const site = { options, index, place: { database: 0, tag }, ...(await openSite(at)) };
      sites.push([`${endpoint.host}:${endpoint.port}`, site]);
    }
    const [, any] = sites[0] ?? [];
    if (any === undefined) throw new Error('no master has any of the slots');
    const { result, detail, ...rest } = await checkAnswer(any);
    const [version = '', answers = ''] = detail.split(' answers');
    const more = `${name}: ${version}, ${describeCluster(map)}, answers${answers}`;
    yield { name: 'redis', result, detail: more, ...rest } as RedisFinding;
    const found = await checkSlots(map, any);
    yield { name: 'redis-slots', ...found, detail: `${name}: ${found.detail}` };
  } catch (error) {
    const why = unreachable(error);
    yield { name: 'redis', ...why, detail: `${name}: ${why.detail}` };
    return;
  }
  for (const [at, site] of sites) yield* of(at, checkAll(site));
}

async function openSite({
  connector,
  endpoint,
  connections,
}: {
  readonly connector: RedisConnector;
  readonly endpoint: RedisEndpoint;
  readonly connections: DisposableStack;
}): Promise<Pick<Site, 'connection' | 'info' | 'connect'>> {
  const connect = async (owner: RedisConnectionOwner) => {
    const connection = await connector.connect(endpoint, owner);
    connections.defer(() => connection.end('examined'));
    return connection;
  };
  const connection = await connect(NOBODY);
  return { connection, connect, info: String(await connection.request(['INFO'])) };
}

async function* checkAll(site: Site): AsyncGenerator<RedisFinding> {
  for (const [name, check] of Object.entries(checks) as Checks) {
    try {
      yield { name, ...(await check(site)) };
    } catch (error) {
      const why = messageOf(error);
      yield { name, ...failed(why, repairOf(why, site.options)) };
    }
  }
}

function unreachable(error: unknown): Result {
  const isRefused = error instanceof RedisRefused || error instanceof RedisUnsuitable;
  const advice = isRefused
    ? REPAIR
    : 'Check that Redis runs, its address and port, the `bind` setting of Redis, and firewalls on the way.';
  return failed(messageOf(error), advice);
}

type Checks = [keyof typeof checks, (typeof checks)[keyof typeof checks]][];

async function checkAnswer({ connection, info, place, options }: Site): Promise<Result> {
  // The user of a cluster may lack the right to ask for the time.
  const command = place.tag === undefined ? ['TIME'] : ['GET', layoutKey({ ...options, place })];
  let tookMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const sentAtMs = performance.now();
    await connection.request(command);
    tookMs = Math.min(tookMs, performance.now() - sentAtMs);
  }
  const detail = `${versionOf(fieldsOf(info))} answers in ${tookMs.toFixed(1)} ms`;
  if (tookMs < SLOW_MS) return ok(detail);
  return warning(
    detail,
    'Each event waits for Redis: put it near the servers, and look at its load.',
  );
}

/** Asks each sentinel alone. One that answers is enough for a server, until it is the one that fails. */
async function checkSentinels(connector: RedisConnector): Promise<Result> {
  const { endpoints } = connector;
  const asked = await Promise.allSettled(endpoints.map((one) => connector.findPrimary([one])));
  const why = asked.flatMap((one) => (one.status === 'rejected' ? [messageOf(one.reason)] : []));
  const named = new Set(
    asked.flatMap((one) =>
      one.status === 'fulfilled' ? [`${one.value.host}:${one.value.port}`] : [],
    ),
  );
  const detail = `${endpoints.length - why.length} of ${endpoints.length} sentinels name a primary: ${[...named].join(', ')}`;
  if (why.length === endpoints.length) return failed(why.join('; '), REPAIR);
  if (why.length > 0) return warning(`${detail}; ${why.join('; ')}`, REPAIR);
  if (named.size === 1) return ok(detail);
  return warning(detail, 'Wait for the end of the failover. Otherwise compare the sentinels.');
}

function checkMemory({ info, place }: Site): Result {
  const fields = fieldsOf(info);
  const numberOf = (name: string) => Number(fields.get(name) ?? 0);
  const [used, most] = [numberOf('used_memory'), numberOf('maxmemory')];
  const detail = `${megabytes(used)} used, ${most === 0 ? 'no limit' : `${megabytes(most)} allowed`}`;
  const [evicts] = checkServer(info, { isCluster: place.tag !== undefined }).warnings;
  if (evicts !== undefined) return warning(evicts, 'CONFIG SET maxmemory-policy noeviction');
  if (most > 0 && used >= most) {
    return failed(detail, 'Redis refuses events and subscriptions: raise maxmemory.');
  }
  if (most > 0 && used > NEARLY_FULL * most) {
    return warning(
      detail,
      'Raise maxmemory: without memory Redis refuses events and subscriptions.',
    );
  }
  return ok(detail);
}

/** After a failed save, Redis refuses everything that writes, unless `stop-writes-on-bgsave-error` is `no`. */
function checkPersistence({ info }: Site): Result {
  const fields = fieldsOf(info);
  const broken = ['rdb_last_bgsave_status', 'aof_last_write_status', 'aof_last_bgrewrite_status'];
  const failures = broken.filter((name) => (fields.get(name) ?? 'ok') !== 'ok');
  if (failures.length === 0) return ok('its last save has worked, or it saves nothing');
  return failed(
    `its last save has failed (${failures.join(', ')})`,
    'The log of Redis says why: often a full disk, a directory without write access, or no memory for a fork. Fanfare needs no saves: `CONFIG SET save ""` and `CONFIG SET stop-writes-on-bgsave-error no` also help.',
  );
}

async function checkClock({ connection, info, place }: Site): Promise<Result> {
  const microseconds = Number(fieldsOf(info).get('server_time_usec') ?? Number.NaN);
  const time =
    place.tag === undefined
      ? await connection.request(['TIME'])
      : [Math.floor(microseconds / 1e6), microseconds % 1e6];
  const [differs] = clockWarnings(time, Date.now());
  if (differs === undefined) return ok('its clock agrees with that of this machine');
  return warning(
    differs,
    'Run NTP on both machines. Nothing depends on the clock of Redis, but the servers must agree with each other within a minute: leases in PostgreSQL follow their clocks.',
  );
}

async function checkLayout({ connection, options, index, place }: Site): Promise<Result> {
  const { urls, keyPrefix } = options;
  const layout = { keyPrefix, servers: urls.map(serverName), index, place };
  const run = (command: readonly string[]) => connection.request(command);
  if ((await run(['GET', layoutKey(layout)])) === null) return ok('no server has used it yet');
  const why = await refusal(run, layout);
  if (why === undefined) return ok('it is used by servers with this configuration');
  return failed(why, 'All servers need the same version, and the same list of Redis servers.');
}

async function checkScripts({ connection, options, place, info }: Site): Promise<Result> {
  const isSharded = place.tag !== undefined;
  for (const script of ALL_SCRIPTS) {
    await connection.request(['SCRIPT', 'LOAD', (isSharded ? script.sharded : script).source]);
  }
  const key = probeName(options, place);
  const probe = async ({ source }: RedisScript, args: readonly string[]) =>
    await connection.request(['EVAL', source, 1, key, ...args]);
  const reply = await probe(isSharded ? PROBE.sharded : PROBE, ['']);
  const lacksTime = isSharded && lacksTimeOnly(reply);
  const time = fieldsOf(info).get('server_time_usec') ?? '';
  const why = refusalIn(lacksTime ? await probe(PROBE.sharded.timed, ['', time]) : reply);
  if (why !== undefined) return failed(why, repairOf(why, options));
  const detail = `it takes all ${ALL_SCRIPTS.length} scripts, and runs every command that they use`;
  return ok(lacksTime ? `${detail} but TIME, in whose place servers bring the time` : detail);
}

function probeName({ keyPrefix }: ExamineRedisOptions, place: Place): string {
  return `${placeKeys(keyPrefix, place)}probe:doctor-${crypto.randomUUID()}`;
}

/** What to change if Redis refuses something with these words. */
function repairOf(why: string, { keyPrefix }: ExamineRedisOptions): string {
  const [, command] = /run the '([^']+)' command/.exec(why) ?? [];
  if (command !== undefined) return `ACL SETUSER NAME +${command}. ${SUFFICIENT}`;
  if (/^NOPERM.*channel/i.test(why)) return `ACL SETUSER NAME &${keyPrefix}*. ${SUFFICIENT}`;
  if (/^NOPERM.*key/i.test(why)) return `ACL SETUSER NAME ~${keyPrefix}*. ${SUFFICIENT}`;
  if (/^NOPERM|user executing the script/i.test(why)) {
    return `ACL SETUSER NAME with a + for each command in parentheses. ${SUFFICIENT}`;
  }
  if (/unknown command/i.test(why)) return 'Do not rename this command (`rename-command`).';
  if (why.startsWith('OOM')) return 'Raise maxmemory.';
  if (why.startsWith('MISCONF')) return 'Repair what the log of Redis says about its last save.';
  if (why.startsWith('NOREPLICAS')) return 'Start the replicas, or lower min-replicas-to-write.';
  return 'Repair what Redis says.';
}

const SUFFICIENT = 'docs/operate/scale.md has the line of a user with all that is needed.';

async function checkPublish({ connection, connect, options, place }: Site): Promise<Result> {
  const { timeoutMs } = options;
  const channel = probeName(options, place);
  const shard = place.tag === undefined ? '' : 'S';
  const came = Promise.withResolvers<void>();
  const followed = Promise.withResolvers<void>();
  const late = () => came.reject(new Error(`No message within ${timeoutMs} ms`));
  const stop = monotonicTimers.after(timeoutMs, late);
  // The first failure ends both waits. The other promise may still reject, which must not end the process.
  followed.promise.catch(() => undefined);
  came.promise.catch((error: unknown) => followed.reject(error));
  try {
    const subscriber = await connect({
      onEnd: (why) => came.reject(new Error(why)),
      onPush: (kind) => (kind === 'message' ? came.resolve() : followed.resolve()),
    });
    subscriber.write(encodeCommand([`${shard}SUBSCRIBE`, channel]));
    await followed.promise;
    const sentAtMs = performance.now();
    await connection.request([`${shard}PUBLISH`, channel, '']);
    await came.promise;
    return ok(`a message came back in ${(performance.now() - sentAtMs).toFixed(1)} ms`);
  } finally {
    stop();
  }
}

function checkConnections({ info }: Site): Result {
  const fields = fieldsOf(info);
  const [open, most] = [fields.get('connected_clients') ?? '?', fields.get('maxclients') ?? '?'];
  const detail = `${open} of ${most} connections are open`;
  if (Number(open) > NEARLY_FULL * Number(most)) {
    return warning(detail, 'Raise maxclients: each realtime thread of each server needs two.');
  }
  return ok(detail);
}

const nothing = () => undefined;
const NOBODY: RedisConnectionOwner = { onEnd: nothing };
/** The checks report what the connections would otherwise log. */
const SILENT: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_000_000)} MB`;
}
