import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { eventually } from '../../testing/eventually.ts';
import { isLong } from '../../testing/long-run.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { Scene } from './scene.ts';

/** What people at two servers see of outages that are longer than a lease. */

if (!isLong) console.log('Outages of many seconds are tested by: npm run test:long');

/** Publishes an event each 500 ms for a time; what is refused is not repeated. */
async function publishFor(scene: Scene, server: number, ms: number): Promise<void> {
  const endMs = performance.now() + ms;
  for (let n = 0; performance.now() < endMs; n++) {
    await scene.publish(server, `${server}-${ms}-${n}`);
    await Bun.sleep(500);
  }
}

describe.skipIf(!isLong).each([1, 2])('two servers with %d threads each', (threads) => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster(2, { threads });
    // A server sweeps what others held only after it has renewed its own lease for 10 s.
    await Bun.sleep(12_000);
  }, 180_000);

  afterAll(() => cluster[Symbol.asyncDispose]());

  it('a server that is stopped for 40 s is reported as gone once, and comes back with its clients', async () => {
    await using scene = await Scene.open(cluster);
    const [near, far] = [scene.peopleAt(0), scene.peopleAt(1)];
    await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
    scene.lasts('pause', 40_000);
    cluster.servers[1]?.process.kill('SIGSTOP');
    const published = publishFor(scene, 0, 40_000);
    await scene.settles(near);
    await scene.reports(far.map(({ userId }) => `-${userId}`));
    await published;
    cluster.servers[1]?.process.kill('SIGCONT');
    await scene.settles();
    await scene.keeps();
    await scene.reports(far.map(({ userId }) => `+${userId}`));
    for (const { view } of near) {
      for (const { userId } of far) {
        // In the room, and as a watched user.
        const changes = view.changes.filter((change) => change.endsWith(userId)).slice(-4);
        expect(changes.toSorted()).toEqual([
          `+${userId}`,
          `+${userId}`,
          `-${userId}`,
          `-${userId}`,
        ]);
      }
    }
  }, 120_000);

  it.each([5, 20, 60])(
    'a server that cannot reach Redis for %d s',
    async (seconds) => {
      await using scene = await Scene.open(cluster);
      const proxy = cluster.proxies[1];
      const [near, far] = [scene.peopleAt(0), scene.peopleAt(1)];
      await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
      const before = scene.people.map(({ view }) => view.changes.length);
      scene.lasts('cut-off', seconds * 1000);
      proxy?.stall();
      const published = publishFor(scene, 0, seconds * 1000);
      expect(await scene.publish(1, 'refused')).toBe(503);
      if (seconds > 15) {
        await scene.settles(near);
        await scene.reports(far.map(({ userId }) => `-${userId}`));
      }
      await published;
      proxy?.resume();
      await scene.settles();
      await eventually(
        () => scene.publish(1, `again-${seconds}`),
        (status) => status === 200,
      );
      await scene.keeps();
      await scene.reports(seconds > 15 ? far.map(({ userId }) => `+${userId}`) : []);
      if (seconds < 10) expect(scene.people.map(({ view }) => view.changes.length)).toEqual(before);
    },
    120_000,
  );

  it('a Redis that hangs for 20 s changes nothing for those who stay; after one that loses its data, all come back and nobody is reported', async () => {
    await using scene = await Scene.open(cluster);
    await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
    const before = scene.people.map(({ view }) => view.changes.length);
    scene.lasts('redis-away', 20_000);
    cluster.redis.signal('SIGSTOP');
    await Promise.all([publishFor(scene, 0, 20_000), publishFor(scene, 1, 20_000)]);
    expect((await scene.appAt(0).api('GET', '/channels')).status).toBe(503);
    cluster.redis.signal('SIGCONT');
    await scene.settles();
    expect(scene.people.map(({ view }) => view.changes.length)).toEqual(before);
    scene.lasts('redis-lost', 0);
    await cluster.redis.kill();
    await cluster.redis.start();
    await scene.allComeBack(4200);
    await scene.settles();
    // After a lease, those who have not come back would be reported as gone.
    await Bun.sleep(12_000);
    await scene.settles();
    expect(await scene.publish(0, 'after')).toBe(200);
    await scene.keeps();
    await scene.reports([]);
  }, 120_000);
});

it.skipIf(!isLong)(
  'a server ends if one of its threads dies, and its users are reported as gone once',
  async () => {
    await using cluster = await startCluster(1);
    const server = await cluster.add({
      threads: 2,
      program: `${import.meta.dir}/../failure/faulty-server.fixture.ts`,
      environment: { FAULT: 'thread ends' },
    });
    await using scene = await Scene.open(cluster, 4);
    await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
    const gone = scene.peopleAt(1);
    server.process.kill('SIGUSR2');
    expect(await server.process.exited).toBe(1);
    for (const person of gone) await scene.goes(person);
    await scene.settles();
    await scene.reports(gone.map(({ userId }) => `-${userId}`));
  },
  90_000,
);
