import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type ThrowAwayDatabase, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, type FanfareOptions, startFanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { type AppClient, appAt, type TestApp } from '../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';

/** Servers that share Redis and PostgreSQL are one server to their users. */

const ROOM = 'presence-room';

let redis: OwnRedis;
let store: ThrowAwayDatabase;
beforeAll(async () => {
  [redis, store] = await Promise.all([startRedis(), throwAwayPostgres()]);
});
afterAll(async () => {
  await redis[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

let clusters = 0;

/** Starts servers of a cluster of their own. */
async function cluster(count: number, options: FanfareOptions = {}) {
  clusters++;
  const config = {
    engine: { type: 'redis', url: redis.url, keyPrefix: `test-${clusters}:` },
    store: { url: store.url },
    webhooks: { allowPrivateAddresses: true },
  };
  const servers: Fanfare[] = [];
  for (let n = 0; n < count; n++) servers.push(await startFanfare({ ...options, config }));
  return {
    servers,
    apps: servers.map(appAt),
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server[Symbol.asyncDispose]();
    },
  };
}

const enters = (app: TestApp, client: AppClient, userId: string) =>
  client.subscribes(ROOM, app.auth(client, ROOM, JSON.stringify({ user_id: userId })));

const usersAt = async (app: TestApp) =>
  JSON.parse(await (await app.api('GET', `/channels/${ROOM}/users`)).text()).users?.map(
    ({ id }: { id: string }) => id,
  );

describe('two servers', () => {
  it.each([1, 2])(
    'with %d threads each are one server to clients and backends',
    async (threads) => {
      await using servers = await cluster(2, { threads, app: { subscriptionCounts: true } });
      const [one, two] = servers.apps as [TestApp, TestApp];
      await using ann = await one.connect();
      await using bob = await two.connect();
      await enters(one, ann, 'ann');
      await enters(two, bob, 'bob');
      expect(await ann.hears()).toMatchObject({ event: 'pusher_internal:member_added' });
      expect(await usersAt(one)).toEqual(['ann', 'bob']);
      expect(await usersAt(two)).toEqual(['ann', 'bob']);

      const names = Array.from({ length: 20 }, (_, n) => `e${n}`);
      for (const [n, name] of names.entries()) {
        await (n % 2 === 0 ? one : two).trigger({ name, channel: ROOM, data: 'x' });
      }
      for (const client of [ann, bob]) {
        for (const event of names) {
          expect(await client.hears()).toEqual({ event, channel: ROOM, data: 'x' });
        }
      }
      await one.trigger({ name: 'not-for-bob', channel: ROOM, data: 'x', socket_id: bob.socketId });
      expect(await ann.hears()).toMatchObject({ event: 'not-for-bob' });
      bob.says({ event: 'pusher:unsubscribe', data: { channel: ROOM } });
      expect(await ann.hears()).toMatchObject({ event: 'pusher_internal:member_removed' });
      await bob.hearsNothing();
    },
  );

  it('share what a cache channel remembers, who is online, and whom a backend terminates', async () => {
    await using servers = await cluster(2, { app: { watchlists: true } });
    const [one, two] = servers.apps as [TestApp, TestApp];
    await one.trigger({ name: 'last', channel: 'cache-x', data: 'x' });
    await using ann = await two.connect();
    await ann.subscribes('cache-x');
    expect(await ann.hears()).toEqual({ event: 'last', channel: 'cache-x', data: 'x' });

    ann.says(two.signIn(ann, { id: 'ann', watchlist: ['bob'] }));
    expect(await ann.hears()).toMatchObject({ event: 'pusher:signin_success' });
    expect(await ann.hears()).toMatchObject({ event: 'pusher_internal:watchlist_events' });
    await using bob = await one.connect();
    bob.says(one.signIn(bob, { id: 'bob' }));
    expect(await bob.hears()).toMatchObject({ event: 'pusher:signin_success' });
    expect(JSON.stringify(await ann.hears())).toContain('online');
    expect((await one.post('/users/ann/terminate_connections', {})).status).toBe(200);
    expect(await ann.closed).toMatchObject({ code: 4009 });
  });

  it('report to webhooks once', async () => {
    using backend = startWebhookEndpoint();
    const events = ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'];
    const webhooks = [{ url: backend.url, events, batching: false }];
    await using servers = await cluster(2, { app: { webhooks } });
    const [one, two] = servers.apps as [TestApp, TestApp];
    const ann = await one.connect();
    await enters(one, ann, 'ann');
    const again = await two.connect();
    await enters(two, again, 'ann');
    await ann[Symbol.asyncDispose]();
    await again[Symbol.asyncDispose]();
    const names: unknown[] = [];
    for (let n = 0; n < 4; n++) names.push(Object(await backend.events.next()).name);
    expect(names.toSorted()).toEqual(events.toSorted());
  });
});

describe('a server that is killed', () => {
  it('leaves no ghost: its members are gone for the others within 15 s, each reported once', async () => {
    await using servers = await cluster(2);
    const [one, two] = servers.apps as [TestApp, TestApp];
    await using ann = await one.connect();
    await enters(one, ann, 'ann');
    const others = await Promise.all(Array.from({ length: 5 }, () => two.connect()));
    for (const [n, client] of others.entries()) await enters(two, client, `user-${n}`);
    for (const _ of others) {
      expect(await ann.hears()).toMatchObject({ event: 'pusher_internal:member_added' });
    }
    servers.servers[1]?.process.kill('SIGKILL');
    const gone: string[] = [];
    for (const _ of others) {
      const { event, data } = Object(await ann.hears());
      expect(event).toBe('pusher_internal:member_removed');
      gone.push(JSON.parse(data).user_id);
    }
    expect(gone.toSorted()).toEqual(others.map((_, n) => `user-${n}`));
    expect(await usersAt(one)).toEqual(['ann']);
    await ann.hearsNothing();
  }, 60_000);
});

describe('while Redis does not answer', () => {
  it('nothing pretends: 503 for triggers and queries, connections stay, and all is right again afterwards', async () => {
    await using own = await startRedis();
    const config = {
      engine: { type: 'redis', url: own.url },
      store: { url: store.url },
    };
    await using first = await startFanfare({ config });
    await using second = await startFanfare({ config });
    const [one, two] = [appAt(first), appAt(second)];
    await using ann = await one.connect();
    await using bob = await two.connect();
    await enters(one, ann, 'ann');
    await enters(two, bob, 'bob');
    await ann.hears();
    own.signal('SIGSTOP');
    const refused = await one.post('/events', { name: 'lost', channel: ROOM, data: 'x' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await two.api('GET', `/channels/${ROOM}/users`)).status).toBe(503);
    own.signal('SIGCONT');
    await eventually(
      async () => (await two.post('/events', { name: 'back', channel: ROOM, data: 'x' })).status,
      (status) => status === 200,
    );
    for (const client of [ann, bob]) {
      // What was refused may have been sent after all: its reply is what was lost.
      let heard = Object(await client.hears());
      if (heard.event === 'lost') heard = Object(await client.hears());
      expect(heard.event).toBe('back');
    }
    expect(await usersAt(one)).toEqual(['ann', 'bob']);
    // Without its data, it is told everything again, and nobody is told anything.
    await own.kill();
    await own.start();
    await eventually(
      async () => {
        const response = await two.api('GET', `/channels/${ROOM}/users`);
        return response.status === 200 ? await response.text() : '';
      },
      (text) => text.includes('ann') && text.includes('bob'),
    );
    await one.trigger({ name: 'after', channel: ROOM, data: 'x' });
    for (const client of [ann, bob]) {
      let heard = Object(await client.hears());
      while (heard.event === 'back') heard = Object(await client.hears());
      expect(heard.event).toBe('after');
    }
  }, 90_000);
});
