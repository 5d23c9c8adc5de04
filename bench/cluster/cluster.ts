import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { type Subject, startUnderLoad, tryStep, WARMUP_SECONDS } from '../fan-out/measure.ts';
import { type ByKey, inRounds } from '../in-rounds.ts';
import type { LoadSize } from '../load/open-loop.ts';
import { startLoad } from '../load-calls.ts';
import { watchCpu } from '../machine/cpu-usage.ts';
import type { Bench } from '../scenario.ts';
import { type Contender, type FanfareServer, startFanfare } from '../servers.ts';
import { measureOneRedis, type OneRedis } from './one-redis.ts';

const ROUNDS = 4;
const ROUNDS_QUICK = 2;
const STEP_SECONDS = 3;
const WARM_UP_TIMES = 2;
const WARM_UP_SECONDS = 3;
const DATA_BYTES = 200;

const LATENCY_RATE = 1000;
const LATENCY_LOAD: LoadSize = { crowd: { channels: 50, subscribersEach: 2 }, publishers: 64 };
const EVENT_RATE = 4000;
const CHANNELS = 100;
const PUBLISHERS = 64;

/** From when an event was due to when it was read. */
interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Processor time of one event. Microseconds. */
interface EventCosts {
  /** On one loop, where nobody hears it. */
  readonly trigger: readonly number[];
  /** On a node of a cluster, none of whose clients hears it. */
  readonly published: readonly number[];
  /** On another node, one of whose clients hears it. The delivery is included. */
  readonly heard: readonly number[];
}

/** What several servers over one Redis cost beside one server. */
export interface ClusterFigures {
  readonly latencyRate: number;
  readonly latency: ByKey<'loop' | 'redis', Latency>;
  readonly eventRate: number;
  readonly costs: EventCosts;
  readonly oneRedis: OneRedis;
}

/** What the servers of one cluster share. */
type Shared = NonNullable<Parameters<typeof startFanfare>[1]['shared']>;

export async function measureCluster(bench: Bench): Promise<ClusterFigures> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const store = parts.use(await throwAwayPostgres());
  const shared = { redisUrl: redis.url, storeUrl: store.url };
  const latency = await measureLatency(bench, shared);
  const costs = await measureCosts(bench, shared);
  await redis.kill();
  const oneRedis = await measureOneRedis(bench);
  return { latencyRate: LATENCY_RATE, latency, eventRate: EVENT_RATE, costs, oneRedis };
}

const roundsOf = ({ isQuick }: Bench): number => (isQuick ? ROUNDS_QUICK : ROUNDS);

async function measureLatency(
  bench: Bench,
  shared: Shared,
): Promise<ByKey<'loop' | 'redis', Latency>> {
  await using parts = new AsyncDisposableStack();
  const start = async (name: string, over: Shared | undefined): Promise<Subject> => {
    const server: Contender = {
      name,
      start: (pin, app) => startFanfare(pin, { app, threads: 1, shared: over }),
    };
    const subject = parts.use(await startUnderLoad(bench, server, LATENCY_LOAD));
    await tryStep(subject, { dataBytes: DATA_BYTES }, LATENCY_RATE, WARM_UP_SECONDS);
    return subject;
  };
  const subjects = { loop: await start('loop', undefined), redis: await start('redis', shared) };
  return await inRounds(roundsOf(bench), ['loop', 'redis'], async (key) => {
    const step = await tryStep(
      subjects[key],
      { dataBytes: DATA_BYTES },
      LATENCY_RATE,
      STEP_SECONDS,
    );
    bench.tellStep(`latency, ${key}`, step);
    const { p50Ms, p99Ms } = step.result;
    return { p50Ms, p99Ms };
  });
}

async function measureCosts(bench: Bench, shared: Shared): Promise<EventCosts> {
  await using parts = new AsyncDisposableStack();
  const start = async (over: Shared | undefined) =>
    parts.use(await startFanfare(bench.pinning.server, { threads: 1, shared: over }));
  const loop = await start(undefined);
  const publishing = await start(shared);
  const hearing = await start(shared);

  /** Runs steps, in which events are triggered at one server, and heard at another. Returns the CPU time of some servers per event. */
  const stepper = async (
    to: FanfareServer,
    at: FanfareServer,
    subscribersEach: number,
  ): Promise<(servers: readonly FanfareServer[]) => Promise<number[]>> => {
    const load = parts.use(startLoad(bench.pinning.load));
    await load.call('connect', {
      app: at.app,
      publishTo: to.app,
      crowd: { channels: CHANNELS, subscribersEach },
      publishers: PUBLISHERS,
      staysAwake: bench.pinning.areApart,
    });
    const step = (rate: number, seconds: number) =>
      tryStep({ load, watch: undefined }, { dataBytes: DATA_BYTES }, rate, seconds);
    await step(EVENT_RATE * WARM_UP_TIMES, WARM_UP_SECONDS);
    return async (servers) => {
      const watches = servers.map(({ pid }) => watchCpu({ server: pid, load: load.pid }));
      const found = await step(EVENT_RATE, STEP_SECONDS);
      bench.tellStep(`events at ${servers.map(({ pid }) => pid).join(' and ')}`, found);
      const { refused, firstRefusal } = found.result;
      if (refused > 0) throw new Error(`a trigger was refused: ${firstRefusal}`);
      const seconds = watches.map((used) => used().serverSeconds);
      const events = (WARMUP_SECONDS + STEP_SECONDS) * EVENT_RATE;
      return seconds.map((one) => (one / events) * 1e6);
    };
  };
  const ofLoop = await stepper(loop, loop, 0);
  const ofCluster = await stepper(publishing, hearing, 1);
  const found = await inRounds(roundsOf(bench), ['loop', 'cluster'], (key) =>
    key === 'loop' ? ofLoop([loop]) : ofCluster([publishing, hearing]),
  );
  const column = (rows: readonly (readonly number[])[], at: number) =>
    rows.map((row) => row[at] ?? Number.NaN);
  return {
    trigger: column(found.loop, 0),
    published: column(found.cluster, 0),
    heard: column(found.cluster, 1),
  };
}
