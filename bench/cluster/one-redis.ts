import { startRedis } from '../../testing/servers/redis.ts';
import type { Bench } from '../scenario.ts';
import { type Busy, type Channels, type EngineProcess, startEngine } from './engine-calls.ts';
import { RedisWatch } from './redis-watch.ts';

const AT_ONCE = 256;
const BUSY_SECONDS = 3;
const WARM_UP_SECONDS = 1;
const PUBLISHING_NODES = 4;
const ROOMS: Channels = { prefix: 'presence-room', count: 100 };

const MEMBERS_EACH = 100;
const STORED = 100_000;
const DEAD_MEMBERS = 20_000;
const GONE_MAX_SECONDS = 60;

/** The load of several nodes on one Redis. */
export interface Rate {
  readonly name: string;
  readonly perSecond: number;
  /** Processor time of Redis for one. Microseconds. */
  readonly redisUs: number;
  /** The share of its core that Redis used. */
  readonly redisShare: number;
}

/** Measures how much one Redis can handle, with engines that have no sockets. */
export interface OneRedis {
  readonly rates: readonly Rate[];
  readonly deadNode: { readonly seconds: number; readonly slowestScriptMs: number };
  /** Memory of Redis. Bytes. */
  readonly memory: { readonly members: number; readonly channels: number };
}

export async function measureOneRedis({ log }: Pick<Bench, 'log'>): Promise<OneRedis> {
  await using parts = new AsyncDisposableStack();
  const redis = parts.use(await startRedis());
  const watch = parts.use(new RedisWatch(redis.url));
  const nodes: EngineProcess[] = [];
  for (let n = 0; n < PUBLISHING_NODES; n++) nodes.push(parts.use(await startEngine(redis.url)));
  const [one, two, dying] = nodes;
  if (one === undefined || two === undefined || dying === undefined) throw new Error('no nodes');

  /** Lets nodes do the same at the same time. */
  const busy = async (
    name: string,
    what: 'churn' | 'publish',
    some: readonly EngineProcess[],
    channels: Channels,
  ) => {
    const run = (seconds: number) => {
      const ask: Busy = { channels, atOnce: AT_ONCE, seconds };
      return Promise.all(some.map((node) => node.call(what, ask)));
    };
    await run(WARM_UP_SECONDS);
    const cpuBefore = await watch.cpuSeconds();
    const startMs = performance.now();
    const counts = await run(BUSY_SECONDS);
    const seconds = (performance.now() - startMs) / 1000;
    const cpuSeconds = (await watch.cpuSeconds()) - cpuBefore;
    const all = counts.reduce((sum, count) => sum + count, 0);
    log(`${name}: ${Math.round(all / seconds)}/s`);
    const redisUs = (cpuSeconds / all) * 1e6;
    return { name, perSecond: all / seconds, redisUs, redisShare: cpuSeconds / seconds };
  };

  const rates: Rate[] = [];
  for (const node of [one, two]) await node.call('listen', ROOMS);
  rates.push(await busy('joins and leaves, 2 nodes', 'churn', [one, two], ROOMS));
  const receivedByOne: Channels = { prefix: 'received-by-one', count: 1000 };
  await one.call('listen', receivedByOne);
  rates.push(await busy('publishes, 4 nodes, received by 1', 'publish', nodes, receivedByOne));
  const receivedByAll: Channels = { prefix: 'received-by-all', count: 1000 };
  for (const node of nodes) await node.call('listen', receivedByAll);
  rates.push(await busy('publishes, 4 nodes, received by 4', 'publish', nodes, receivedByAll));

  const growth = async (work: () => Promise<unknown>) => {
    const before = await watch.memoryBytes();
    await work();
    return (await watch.memoryBytes()) - before;
  };
  const stored: Channels = { prefix: 'presence-stored', count: STORED / MEMBERS_EACH };
  const members = await growth(() =>
    one.call('fill', { channels: stored, membersEach: MEMBERS_EACH }),
  );
  const channels = await growth(() => two.call('listen', { prefix: 'stored', count: STORED }));
  log('100,000 members and 100,000 channels are stored');

  const deadRooms: Channels = { prefix: 'presence-dead', count: DEAD_MEMBERS / MEMBERS_EACH };
  await two.call('listen', deadRooms);
  await dying.call('fill', { channels: deadRooms, membersEach: MEMBERS_EACH });
  await watch.forgetSlow();
  const allGone = two.call('untilGone', { members: DEAD_MEMBERS, seconds: GONE_MAX_SECONDS });
  const killedMs = performance.now();
  process.kill(dying.pid, 'SIGKILL');
  await allGone;
  const seconds = (performance.now() - killedMs) / 1000;
  log(`${DEAD_MEMBERS} members of a dead node are gone after ${seconds.toFixed(1)} s`);
  const slowestScriptMs = await watch.slowestMs();
  return { rates, deadNode: { seconds, slowestScriptMs }, memory: { members, channels } };
}
