import { afterAll, beforeAll, expect, it } from 'bun:test';
import { SLOTS } from '../../../src/engines/redis/link/cluster/slots.ts';
import {
  type ClusterNode,
  type RedisCluster,
  startRedisCluster,
} from '../../../testing/servers/redis-cluster.ts';
import { type Cluster, startCluster } from '../cluster.ts';
import { Load } from './load.fixture.ts';

/** What clients of two servers of two threads see while masters of the Redis Cluster behind these are replaced under load. */

let redis: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  redis = await startRedisCluster();
  cluster = await startCluster(2, { redisCluster: redis.url, threads: 2 });
}, 300_000);

afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

it('a master that hands over costs no event and no connection, and nobody is said to have gone', async () => {
  using load = await Load.open(cluster.servers);
  load.start();
  await load.isServed();
  for (const slot of [SLOTS[0], SLOTS[8], SLOTS[15]]) {
    await redis.failOver(await redis.masterOf(slot?.number ?? 0));
    await load.isServed();
  }
  await load.end();
  expect(load.problems()).toEqual([]);
  expect(load.closed).toEqual([]);
  expect(load.forgotten).toEqual([]);
}, 300_000);

it.each([
  ['is killed', (master: ClusterNode) => master.kill(), (master: ClusterNode) => master.start()],
  [
    'stops to answer',
    async (master: ClusterNode) => master.signal('SIGSTOP'),
    async (master: ClusterNode) => master.signal('SIGCONT'),
  ],
])(
  'a master that %s costs nothing in channels of others',
  async (_, fail, mend) => {
    const slot = SLOTS[8]?.number ?? 0;
    const master = await redis.masterOf(slot);
    const slots = await redis.slotsOf(master);
    using load = await Load.open(cluster.servers, slots);
    const others = load.channelsIn(slots, false);
    load.start();
    await load.isServed();
    await fail(master);
    const promoted = redis.promoted(slot, master);
    await load.isServed(others);
    await promoted;
    await load.isServed();
    await mend(master);
    await load.isServed();
    await load.end();
    expect(load.problems()).toEqual([]);
    expect(load.statuses(others)).toEqual([200]);
    expect(load.closed.filter((user) => user.includes('apart'))).toEqual([]);
  },
  300_000,
);
