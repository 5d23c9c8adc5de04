import { hasPostgres, throwAwayPostgres } from '../../testing/databases/postgres.ts';
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
const TRIES_MAX = 3;
const WARM_UP_SECONDS = 3;
const DATA_BYTES = 200;

const LATENCY_RATE = 1000;
const LATENCY_LOAD: LoadSize = { crowd: { channels: 50, subscribersEach: 2 }, publishers: 64 };
const EVENT_RATE = 4000;
/** At this rate, one turn of the loop handles several events and sends them to Redis in one write. */
const BUSY_RATE = 12_000;
const CHANNELS = 100;
const PUBLISHERS = 64;

/** From the moment at which an event was due to the moment at which it was read. */
interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Processor time of one event, measured in rounds. Microseconds. */
export interface EventCosts {
  readonly eventsPerSecond: number;
  /** On one loop, with no subscriber. */
  readonly trigger: readonly number[];
  /** On a node of a cluster, with no subscriber there. */
  readonly published: readonly number[];
  /** On another node, with one subscriber; includes the delivery. `undefined`: the channels had no subscribers. */
  readonly received: readonly number[] | undefined;
}

/** Measures what several servers over one Redis cost, compared with one server. */
export interface ClusterFigures {
  readonly latencyRate: number;
  readonly latency: ByKey<'loop' | 'redis', Latency>;
  readonly costs: readonly EventCosts[];
  readonly oneRedis: OneRedis;
}

/** What the servers of one cluster share. */
type Shared = NonNullable<Parameters<typeof startFanfare>[1]['shared']>;

/** Whether the programs that servers share are installed. */
export function canMeasureCluster(): boolean {
  return Bun.which('redis-server') !== null && hasPostgres();
}

export async function measureCluster(bench: Bench): Promise<ClusterFigures> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const store = parts.use(await throwAwayPostgres());
  const shared = { redisUrl: redis.url, storeUrl: store.url };
  const latency = await measureLatency(bench, shared);
  const costs = await measureCosts(bench, shared);
  await redis.kill();
  const oneRedis = await measureOneRedis(bench);
  return { latencyRate: LATENCY_RATE, latency, costs, oneRedis };
}

/** Repeats a step that was cut short, because other programs used this machine. */
async function tryUntilWhole<Found extends { readonly isWhole: boolean }>(
  step: () => Promise<Found>,
): Promise<Found> {
  for (let tries = 1; ; tries++) {
    const found = await step();
    if (found.isWhole || tries === TRIES_MAX) return found;
  }
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
  const load = { dataBytes: DATA_BYTES };
  return await inRounds(roundsOf(bench), ['loop', 'redis'], (key) =>
    tryUntilWhole(async () => {
      const step = await tryStep(subjects[key], load, LATENCY_RATE, STEP_SECONDS);
      bench.logStep(`latency, ${key}`, step);
      const { p50Ms, p99Ms, cutShort } = step.result;
      return { p50Ms, p99Ms, isWhole: !cutShort };
    }),
  );
}

async function measureCosts(bench: Bench, shared: Shared): Promise<readonly EventCosts[]> {
  await using parts = new AsyncDisposableStack();
  const start = async (over: Shared | undefined) =>
    parts.use(await startFanfare(bench.pinning.server, { threads: 1, shared: over }));
  const loop = await start(undefined);
  const node = await start(shared);
  const other = await start(shared);

  const add = async (flow: Flow): Promise<Step> => {
    const { step, stop } = await startFlow(bench, flow);
    parts.defer(stop);
    return step;
  };
  const steps = {
    trigger: await add({ rate: EVENT_RATE, to: loop, watched: [loop] }),
    cluster: await add({ rate: EVENT_RATE, to: node, receiver: other, watched: [node, other] }),
    busyTrigger: await add({ rate: BUSY_RATE, to: loop, watched: [loop] }),
    busyPublish: await add({ rate: BUSY_RATE, to: node, watched: [node] }),
  };
  const found = await inRounds(
    roundsOf(bench),
    ['trigger', 'cluster', 'busyTrigger', 'busyPublish'],
    (key) => steps[key](),
  );
  const of = (rows: readonly (readonly number[])[], at = 0) =>
    rows.map((row) => row[at] ?? Number.NaN);
  return [
    {
      eventsPerSecond: EVENT_RATE,
      trigger: of(found.trigger),
      published: of(found.cluster),
      received: of(found.cluster, 1),
    },
    {
      eventsPerSecond: BUSY_RATE,
      trigger: of(found.busyTrigger),
      published: of(found.busyPublish),
      received: undefined,
    },
  ];
}

/** Events that are triggered at one server. */
interface Flow {
  readonly rate: number;
  readonly to: FanfareServer;
  /** The server of the only subscriber of each channel. `undefined`: the channels have no subscribers. */
  readonly receiver?: FanfareServer;
  readonly watched: readonly FanfareServer[];
}

/** Lets the events flow for a while. Returns the processor time of each watched server for one event. Microseconds. */
type Step = () => Promise<number[]>;

async function startFlow(
  { pinning, logStep }: Bench,
  { rate, to, receiver, watched }: Flow,
): Promise<{ step: Step; stop: () => PromiseLike<void> }> {
  const load = startLoad(pinning.load);
  const stop = () => load[Symbol.asyncDispose]();
  await load.call('connect', {
    app: (receiver ?? to).app,
    publishTo: to.app,
    crowd: { channels: CHANNELS, subscribersEach: receiver === undefined ? 0 : 1 },
    publishers: PUBLISHERS,
    staysAwake: pinning.areApart,
  });
  const run = (seconds: number) =>
    tryStep({ load, watch: undefined }, { dataBytes: DATA_BYTES }, rate, seconds);
  await run(WARM_UP_SECONDS);
  const tryOnce = async () => {
    const watches = watched.map(({ pid }) => watchCpu({ server: pid, load: load.pid }));
    const found = await run(STEP_SECONDS);
    const events = (WARMUP_SECONDS + STEP_SECONDS) * rate;
    const us = watches.map((used) => (used().serverSeconds / events) * 1e6);
    logStep(`processor time, ${watched.length} servers`, found);
    const { refused, firstRefusal, cutShort } = found.result;
    if (refused > 0) throw new Error(`a trigger was refused: ${firstRefusal}`);
    return { us, isWhole: !cutShort };
  };
  return { step: async () => (await tryUntilWhole(tryOnce)).us, stop };
}
