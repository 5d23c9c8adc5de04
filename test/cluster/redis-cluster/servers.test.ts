import { afterAll, beforeAll, expect, it } from 'bun:test';
import { SLOTS } from '../../../src/engines/redis/link/cluster/slots.ts';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type RedisCluster, startRedisCluster } from '../../../testing/servers/redis-cluster.ts';
import { type Cluster, startCluster } from '../cluster.ts';
import { Scene } from '../scene.ts';

/** What people at two servers of two threads see while the Redis Cluster behind these changes. */

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

/** Publishes at both servers in turns, until `end` is called. */
function publishing(scene: Scene) {
  let isOver = false;
  const work = (async () => {
    for (let n = 0; !isOver; n++) await scene.publish(n % 2, `event-${n}`);
  })();
  return async () => {
    isOver = true;
    await work;
  };
}

const isReady = async () => {
  const answers = await Promise.all(
    cluster.servers.map((server) => admin(server, 'GET', '//readyz')),
  );
  return answers.every(({ text }) => text === 'ready\n');
};

it('nobody misses an event or is told of a change while slots move', async () => {
  await using scene = await Scene.open(cluster);
  await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
  const changes = scene.people.map(({ view }) => view.changes.length);
  const end = publishing(scene);
  const [first, last] = [SLOTS[0]?.number ?? 0, SLOTS[15]?.number ?? 0];
  const [from, to] = [await redis.masterOf(first), await redis.masterOf(last)];
  const moved = SLOTS.map(({ number }) => number).filter((number) => number < last / 3);
  for (const slot of moved) await redis.moveSlot(slot, to);
  for (const slot of moved) await redis.moveSlot(slot, from);
  await eventually(isReady, (ready) => ready);
  await end();
  expect(scene.history.accepted).toBeGreaterThan(0);
  await scene.settles();
  await scene.keeps();
  await scene.reports([]);
  expect(scene.people.map(({ view }) => view.changes.length)).toEqual(changes);
  const { text: metrics } = await admin(cluster.servers[0] ?? fail(), 'GET', '//metrics');
  expect(metrics).toMatch(/fanfare_engine_masters\{loop="realtime"\} 3\n/);
  expect(metrics).toMatch(/fanfare_engine_redirects_total\{kind="moved"\} \d/);
}, 300_000);

function fail(): never {
  throw new Error('There is no server');
}
