import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { Scene } from './scene.ts';

/** Two servers whose clocks are a minute apart. */

const PROGRAM = `${import.meta.dir}/../failure/clock-server.fixture.ts`;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster(1);
  await cluster.add({ program: PROGRAM, environment: { CLOCK_OFFSET_MS: '60000' } });
}, 180_000);

afterAll(() => cluster[Symbol.asyncDispose]());

describe('servers whose clocks are a minute apart', () => {
  it('report nobody to webhooks or watchers who returns within 3 s on the other server', async () => {
    await using scene = await Scene.open(cluster);
    await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
    const groups = [scene.peopleAt(0), scene.peopleAt(1)];
    const movers = groups.flatMap(([mover]) => mover ?? []);
    const goers = groups.flatMap(([, goer]) => goer ?? []);
    for (const person of [...movers, ...goers]) await scene.goes(person);
    for (const { server, userId } of movers) await scene.comes(1 - server, userId);
    const watcher = await scene.comes(0, 'user-7');
    // The movers left first, so a report of them would come before.
    await scene.reports([`+${watcher.userId}`, ...goers.map(({ userId }) => `-${userId}`)]);
    await scene.settles();
    for (const { view } of scene.people) {
      const users = movers.flatMap(({ userId }) => [`+${userId}`, `-${userId}`]);
      // The room may be notified at once; the watchers of the user are not notified.
      for (const change of users) {
        expect(view.changes.filter((one) => one === change).length).toBeLessThanOrEqual(1);
      }
    }
  }, 180_000);

  it('send all that was accepted also to those whose subscriptions Redis has ended', async () => {
    await using scene = await Scene.open(cluster);
    const redis = new Bun.RedisClient(cluster.redis.url);
    for (let n = 0; n < 200; n++) {
      if (n % 50 === 25) await redis.send('CLIENT', ['KILL', 'TYPE', 'pubsub']);
      await scene.publish(n % 2, `event-${n}`);
    }
    redis.close();
    expect(scene.history.accepted).toBeGreaterThan(100);
    await scene.settles();
    await scene.keeps();
  }, 180_000);

  it('remember an event of a cache channel for each other', async () => {
    await using scene = await Scene.open(cluster, 1);
    for (const server of [0, 1]) {
      const channel = `cache-${server}`;
      await scene.appAt(server).trigger({ name: 'last', channel, data: 'x' });
      const [person] = scene.peopleAt(1 - server);
      await person?.view.enters(channel);
      await person?.view.receive(channel, 'last');
    }
  }, 180_000);
});

it('servers that are restarted one after the other lose nothing for those who stay connected', async () => {
  await using scene = await Scene.open(cluster);
  await using parts = new AsyncDisposableStack();
  await scene.reports(['occupied', ...scene.people.map(({ userId }) => `+${userId}`)]);
  for (const server of [1, 0]) {
    const other = 1 - server;
    while (scene.peopleAt(other).length < 2) await scene.comes(other);
    const leaving = scene.peopleAt(server);
    const { accepted } = scene.history;
    let isOver = false;
    const publish = async (at: number) => {
      for (let n = 0; !isOver; n++) {
        const status = await scene.publish(at, `${server}-${at}-${n}`);
        // Nobody listens for a while.
        if (status === 0) await Bun.sleep(50);
      }
    };
    const publishing = [publish(0), publish(1)];
    const restarted = restart(cluster.servers[server] as Fanfare);
    for (const person of leaving) {
      expect(await person.view.client.closed).toMatchObject({ code: 4200 });
      await scene.goes(person);
      await scene.comes(other, person.userId);
    }
    parts.use(await restarted);
    isOver = true;
    await Promise.all(publishing);
    expect(scene.history.accepted - accepted).toBeGreaterThan(20);
    await scene.settles();
  }
  await scene.keeps();
  const came = scene.reported.filter((change) => change.startsWith('+'));
  // Who was back within 3 s was never reported as gone.
  expect(came.length).toBe(new Set(came).size);
}, 120_000);

it('a server of another layout is refused', async () => {
  const urls = [cluster.redis.url, cluster.redis.url.replace('127.0.0.1', 'localhost')];
  const started = cluster.add({ config: { engine: { type: 'redis', urls } } });
  expect(await started.catch(String)).toMatch(/exit code 1[\s\S]*another layout/);
}, 180_000);
