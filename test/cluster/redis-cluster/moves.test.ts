import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { SLOTS } from '../../../src/engines/redis/link/cluster/slots.ts';
import { isLong } from '../../../testing/long-run.ts';
import {
  type ClusterNode,
  type RedisCluster,
  startRedisCluster,
} from '../../../testing/servers/redis-cluster.ts';
import { type Cluster, startCluster } from '../cluster.ts';
import { Load } from './load.fixture.ts';

/** What clients of two servers of two threads see while slots of the Redis Cluster behind these are moved under load. It takes 40 s of both cores: long runs only. */

let redis: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  if (!isLong) return;
  redis = await startRedisCluster();
  cluster = await startCluster(2, { redisCluster: redis.url, threads: 2 });
}, 300_000);

afterAll(async () => {
  if (!isLong) return;
  await cluster[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

const version = Bun.spawnSync(['redis-server', '--version']).stdout.toString();
/** Valkey moves slots by itself from 9.0 on; on Redis, nobody but a program like `redis-cli` does. */
const movesThem = Number(/^Valkey server v=(\d+)/.exec(version)?.[1] ?? 0) >= 9;

type Move = (slots: readonly number[], to: ClusterNode) => Promise<void>;

async function byKeys(slots: readonly number[], to: ClusterNode): Promise<void> {
  for (const slot of slots) await redis.moveSlot(slot, to);
}

describe.each<[how: string, move: Move, isTried: boolean]>([
  ['key by key', byKeys, isLong],
  ['by the servers themselves', (slots, to) => redis.migrateSlots(slots, to), isLong && movesThem],
])('moved %s,', (_, move, isTried) => {
  it.skipIf(!isTried)(
    'all slots of a master go to another and to a new one and back, with everything that they hold',
    async () => {
      const [first, last] = [SLOTS[0]?.number ?? 0, SLOTS[15]?.number ?? 0];
      const [master, other] = [await redis.masterOf(first), await redis.masterOf(last)];
      const held = await redis.slotsOf(master);
      const slots = SLOTS.map(({ number }) => number).filter((number) => held.includes(number));
      const added = await redis.addMaster();
      using load = await Load.open(cluster.servers);
      load.start();
      await load.isServed();
      for (const to of [other, added]) {
        await move(slots, to);
        await load.isServed();
      }
      // It finds the histories at another master than they have begun at.
      await cluster.add();
      await move(slots, master);
      await load.isServed();
      await load.end();
      expect(load.problems()).toEqual([]);
      expect(load.closed).toEqual([]);
      expect(load.forgotten).toEqual([]);
    },
    300_000,
  );
});
