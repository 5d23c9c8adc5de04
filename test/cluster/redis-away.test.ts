import { describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { appAt, type TestApp } from '../../testing/servers/test-app.ts';
import { enters, ROOM, startCluster, usersAt } from './cluster.ts';

describe('while Redis does not answer', () => {
  it('nothing is pretended: 503 for triggers and queries, connections stay, and all is right again afterwards; who may have missed something is told', async () => {
    await using cluster = await startCluster(2, { app: { clientEvents: true } });
    const { redis } = cluster;
    const [one, two] = cluster.apps as [TestApp, TestApp];
    await using ann = await one.connect();
    await using bob = await two.connect();
    await enters(one, ann, 'ann');
    await enters(two, bob, 'bob');
    await ann.receive();
    redis.signal('SIGSTOP');
    const refused = await one.post('/events', { name: 'lost', channel: ROOM, data: 'x' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await two.api('GET', `/channels/${ROOM}/users`)).status).toBe(503);
    ann.send({ event: 'client-wave', channel: ROOM, data: {} });
    expect(await ann.receive()).toMatchObject({ event: 'pusher:error', data: { code: 4301 } });
    const ready = await admin(cluster.servers[0] as Fanfare, 'GET', '//readyz');
    expect(ready.status).toBe(200);
    expect(ready.text).toMatch(/^ready\n(.*\n)*realtime: engine away since \d{4}-\S+: \S/);
    redis.signal('SIGCONT');
    await eventually(
      async () => (await two.post('/events', { name: 'back', channel: ROOM, data: 'x' })).status,
      (status) => status === 200,
    );
    for (const client of [ann, bob]) {
      // What was refused may have been sent after all: its reply is what was lost.
      let received = Object(await client.receive());
      if (received.event === 'lost') received = Object(await client.receive());
      expect(received.event).toBe('back');
    }
    // The other server may be back a moment later.
    await eventually(
      async () => (await one.api('GET', `/channels/${ROOM}/users`)).status,
      (status) => status === 200,
    );
    expect(await usersAt(one)).toEqual(['ann', 'bob']);
    // Without its data, it gets everything again. What was published last may be lost with it, so the clients are told.
    await redis.kill();
    await redis.start();
    for (const client of [ann, bob]) {
      expect(await client.closed).toMatchObject({
        code: 4200,
        reason: 'Events may have been missed, please reconnect',
      });
    }
    await using annAgain = await one.connect();
    await using bobAgain = await two.connect();
    await enters(one, annAgain, 'ann');
    await enters(two, bobAgain, 'bob');
    await eventually(
      async () => (await two.api('GET', `/channels/${ROOM}/users`)).status,
      (status) => status === 200,
    );
    expect((await usersAt(two)).toSorted()).toEqual(['ann', 'bob']);
    await one.trigger({ name: 'after', channel: ROOM, data: 'x' });
    for (const client of [annAgain, bobAgain]) {
      let received = Object(await client.receive());
      while (received.event === 'pusher_internal:member_added')
        received = Object(await client.receive());
      expect(received.event).toBe('after');
    }
  }, 90_000);
});

it('subscriptions that a new Redis process still knows of a server are not counted twice', async () => {
  await using redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  await using server = await startFanfare({
    app: { subscriptionCounts: true },
    config: { engine: { type: 'redis', url: redis.url }, push: { port: 0, instances: [] } },
  });
  const app = appAt(server);
  await using client = await app.connect();
  await client.subscribe('news');

  await redis.kill();
  await redis.start();
  expect(await client.closed).toMatchObject({ code: 4200 });
  const backAt = performance.now();
  await using again = await app.connect();
  again.send({ event: 'pusher:subscribe', data: { channel: 'news' } });
  let count = 0;
  while (count !== 1) {
    const { event, data } = Object(await again.receive());
    if (event !== 'pusher_internal:subscription_count') continue;
    count = (typeof data === 'string' ? JSON.parse(data) : data).subscription_count;
  }
  // Before the lease ends that the server had.
  expect(performance.now() - backAt).toBeLessThan(8000);
});

it('a server whose Redis cannot be reached does not start, and names the setting', async () => {
  await using cluster = await startCluster(0);
  const config = {
    engine: { type: 'redis', url: `redis://127.0.0.1:${await freePort()}` },
    store: { url: cluster.store.url },
  };
  expect(await startFanfare({ config }).catch(String)).toMatch(/exit code 1[\s\S]*engine\.url: /);
}, 180_000);
