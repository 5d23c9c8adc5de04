import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import type { CheckedOut } from '../../testing/servers/checked-out.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { type ByKey, inRounds } from '../in-rounds.ts';
import { type LoadProcess, startLoad } from '../load-calls.ts';
import { usedSecondsOf } from '../machine/cpu-usage.ts';
import type { Bench } from '../scenario.ts';
import { type FanfareServer, startFanfare } from '../servers.ts';
import { type Channels, type EngineProcess, startEngine } from './engine-calls.ts';
import { listenTo } from './listener.ts';
import { RedisWatch } from './redis-watch.ts';

const ROUNDS = 5;
const ROUNDS_QUICK = 3;
const SECONDS = 2;
const DATA_BYTES = 200;
const channelsOf = (prefix: string) => Array.from({ length: 100 }, (_, n) => `${prefix}-${n}`);
/** All of them are heard by one client. */
const CHANNELS = channelsOf('bench');
/** These are heard by clients on all threads. */
const SPREAD_CHANNELS = channelsOf('spread');
/** For each thread. The kernel distributes them, so some threads get more. */
const SPREAD_CLIENTS = 6;
const SINGLE_RATE = 500;
const NODES = 4;
const AT_ONCE = 256;
/** Public channels, and as many presence channels with one member. */
const RESTATED_EACH = 10_000;
const LOOK_MS = 100;
/** Processor time counts, so no step may end because the machine is slow. */
const LATE_MS = 60_000;

/** Processor time of one event, or of one channel that is stated again. Microseconds. */
export interface EventUs {
  readonly redis: number;
  readonly publishing: number;
  readonly hearing?: number;
  /** From when the event was due to its delivery, where that is measured. */
  readonly p50Ms?: number;
}

export type Version = 'this' | 'other';
const versions: readonly Version[] = ['this', 'other'];

export const FLOWS = {
  hundred: 'triggers to 100 channels, 4 at a time',
  spread: 'the same to channels with subscribers on all threads',
  ten: 'triggers to 10 channels, one after the other',
  single: `one channel, ${SINGLE_RATE} events/s`,
  engines: `${NODES} engines with ${AT_ONCE} events in flight each`,
  restating: `a channel that an engine states again, of ${2 * RESTATED_EACH} after Redis has lost its data, half of them with a member`,
} as const;
type Flow = keyof typeof FLOWS;

export interface ClusterComparison {
  readonly otherName: string;
  /** Of each server. The engines without sockets have one. */
  readonly threads: number;
  readonly flows: Readonly<Record<Flow, ByKey<Version, EventUs>>>;
}

/** Publishes on one server and hears it on another, or the same with engines, with this version and another in turns. */
export async function compareClusters(
  bench: Pick<Bench, 'pinning' | 'isQuick' | 'log'>,
  other: CheckedOut,
  threads: number,
): Promise<ClusterComparison> {
  await using parts = new AsyncDisposableStack();
  const rounds = bench.isQuick ? ROUNDS_QUICK : ROUNDS;
  const sites: Record<Version, Site> = {
    this: parts.use(await startSite(bench.pinning, { threads })),
    other: parts.use(await startSite(bench.pinning, { threads, clone: other.folder })),
  };
  const measure = async (flow: Flow) => {
    // A server that has just started is still compiling.
    for (const version of versions) await sites[version].run(flow);
    const found = await inRounds(rounds, versions, (version) => sites[version].run(flow));
    bench.log(`${FLOWS[flow]}: measured`);
    return found;
  };
  // First, because the clients of this one answer no ping meanwhile.
  const single = await measure('single');
  const flows = {
    single,
    hundred: await measure('hundred'),
    spread: await measure('spread'),
    ten: await measure('ten'),
    engines: await measure('engines'),
    restating: await measure('restating'),
  };
  return { otherName: other.name, threads, flows };
}

interface Site extends AsyncDisposable {
  run(flow: Flow): Promise<EventUs>;
}

async function startSite(
  pinning: Bench['pinning'],
  { threads, clone }: { readonly threads: number; readonly clone?: string },
): Promise<Site> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const watch = parts.use(new RedisWatch(redis.url));
  const store = parts.use(await throwAwayPostgres());
  const shared = { redisUrl: redis.url, storeUrl: store.url };
  const start = async () =>
    parts.use(await startFanfare(pinning.server, { threads, shared, clone }));
  const servers = { publishing: await start(), hearing: await start() };
  parts.use(await listenTo(servers.hearing.app, CHANNELS));
  for (let n = 0; n < SPREAD_CLIENTS * threads; n++) {
    parts.use(await listenTo(servers.hearing.app, SPREAD_CHANNELS));
  }
  const load = parts.use(startLoad(pinning.load));
  await load.call('connect', {
    app: servers.hearing.app,
    publishTo: servers.publishing.app,
    crowd: { channels: 1, subscribersEach: 1 },
    publishers: 8,
    staysAwake: pinning.areApart,
  });
  const engines = parts.use(await startEngines(clone));
  const restating = parts.use(await startRestating(clone));
  const started = parts.move();
  return {
    run(flow) {
      if (flow === 'engines') return engines.run();
      if (flow === 'restating') return restating.run();
      return runServers(flow, { servers, watch, load, pinning });
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

interface Servers {
  readonly servers: Readonly<Record<'publishing' | 'hearing', FanfareServer>>;
  readonly watch: RedisWatch;
  readonly load: LoadProcess;
  readonly pinning: Bench['pinning'];
}

async function runServers(
  flow: Exclude<Flow, 'engines' | 'restating'>,
  { servers, watch, load, pinning }: Servers,
): Promise<EventUs> {
  const { publishing, hearing } = servers;
  const used = await startToCount(watch, [publishing.pid], [hearing.pid]);
  if (flow === 'single') {
    const step = { publishesPerSecond: SINGLE_RATE, warmupSeconds: 0, seconds: SECONDS };
    const found = await load.call('step', { ...step, dataBytes: DATA_BYTES, limitMs: LATE_MS });
    return { ...(await used(found.expected)), p50Ms: found.p50Ms };
  }
  const eventsEach = flow === 'ten' ? 10 : 100;
  const { accepted, refused, firstRefusal } = await load.call('intake', {
    app: publishing.app,
    connections: flow === 'ten' ? 1 : 4,
    eventsEach,
    channels: flow === 'spread' ? SPREAD_CHANNELS : CHANNELS,
    dataBytes: DATA_BYTES,
    warmupSeconds: 0,
    seconds: SECONDS,
    staysAwake: pinning.areApart,
  });
  if (refused > 0) throw new Error(`a trigger was refused: ${firstRefusal}`);
  return await used(accepted * eventsEach);
}

/** Nodes without sockets: those that publish, and one that hears. */
async function startEngines(
  clone: string | undefined,
): Promise<AsyncDisposable & { run(): Promise<EventUs> }> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const watch = parts.use(new RedisWatch(redis.url));
  const channels: Channels = { prefix: 'heard', count: 1000 };
  const nodes: EngineProcess[] = [];
  for (let n = 0; n < NODES; n++) nodes.push(parts.use(await startEngine(redis.url, clone)));
  const hearing = parts.use(await startEngine(redis.url, clone));
  await hearing.call('listen', channels);
  const started = parts.move();
  return {
    async run() {
      const pids = nodes.map(({ pid }) => pid);
      const used = await startToCount(watch, pids, [hearing.pid]);
      const ask = { channels, atOnce: AT_ONCE, seconds: SECONDS };
      const counts = await Promise.all(nodes.map((node) => node.call('publish', ask)));
      return await used(counts.reduce((sum, count) => sum + count, 0));
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** A node that states all it holds again, because Redis begins without data. */
async function startRestating(
  clone: string | undefined,
): Promise<AsyncDisposable & { run(): Promise<EventUs> }> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const engine = parts.use(await startEngine(redis.url, clone));
  await engine.call('listen', { prefix: 'heard', count: RESTATED_EACH });
  const rooms = { prefix: 'presence-room', count: RESTATED_EACH };
  await engine.call('fill', { channels: rooms, membersEach: 1 });
  const started = parts.move();
  return {
    async run() {
      const usedBefore = usedSecondsOf(engine.pid).allThreads;
      await redis.kill();
      await redis.start();
      using watch = new RedisWatch(redis.url);
      while ((await watch.occupied()) < 2 * RESTATED_EACH) await Bun.sleep(LOOK_MS);
      // This Redis has done nothing else.
      const used = {
        redis: await watch.cpuSeconds(),
        publishing: usedSecondsOf(engine.pid).allThreads - usedBefore,
      };
      const us = (seconds: number) => (seconds / (2 * RESTATED_EACH)) * 1e6;
      return { redis: us(used.redis), publishing: us(used.publishing) };
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Starts to count processor time. What is returned gives that of one event. */
async function startToCount(
  watch: RedisWatch,
  publishing: readonly number[],
  hearing: readonly number[],
): Promise<(events: number) => Promise<EventUs>> {
  const secondsOf = (pids: readonly number[]) =>
    pids.reduce((sum, pid) => sum + usedSecondsOf(pid).allThreads, 0);
  const read = async () => ({
    redis: await watch.cpuSeconds(),
    publishing: secondsOf(publishing),
    hearing: secondsOf(hearing),
  });
  const before = await read();
  return async (events) => {
    const after = await read();
    const us = (key: keyof typeof after) => ((after[key] - before[key]) / events) * 1e6;
    return { redis: us('redis'), publishing: us('publishing'), hearing: us('hearing') };
  };
}
