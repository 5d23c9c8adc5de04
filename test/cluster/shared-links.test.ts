import { expect, it } from 'bun:test';
import type { TestApp } from '../../testing/servers/test-app.ts';
import { askRedis } from '../faults/machine/ask-redis.ts';
import { ROOM, startCluster, usersAt } from './cluster.ts';

/** The kernel puts them on all threads of a server: the chance that one of four stays empty is 1 in 10^5. */
const CLIENTS = 45;

/** Two for each of at most four threads. */
const CONNECTIONS_MAX = 8;

it.each([
  ['two', 2],
  ['four', 4],
  ['six', 6],
])(
  'servers of %s threads are one holder of a channel each, with few connections',
  async (_, threads) => {
    await using cluster = await startCluster(1, { threads });
    const connections = async () => {
      const clients = await askRedis(cluster.redis, 'CLIENT', 'LIST');
      // One of them asks.
      return clients.split('\n').filter((line) => line.startsWith('id=')).length - 1;
    };
    const ofOne = await connections();
    expect(ofOne).toBe(Math.min(2 * threads, CONNECTIONS_MAX));
    await cluster.add();
    expect(await connections()).toBe(2 * ofOne);

    const [one, two] = cluster.apps as [TestApp, TestApp];
    const users = Array.from({ length: CLIENTS }, (_, n) => `user-${n}`);
    await using clients = new AsyncDisposableStack();
    const connect = async (app: TestApp, userId: string) => {
      const client = clients.use(await app.connect());
      const auth = app.auth(client, ROOM, JSON.stringify({ user_id: userId }));
      client.send({ event: 'pusher:subscribe', data: { channel: ROOM, ...auth } });
      return client;
    };
    const all = await Promise.all(
      [one, two].flatMap((app) => users.map((userId) => connect(app, userId))),
    );
    const hears = async (client: (typeof all)[number], wanted: string) => {
      for (;;) {
        const { event } = await client.receive();
        if (event === wanted) return;
        expect(event).toMatch(/^pusher_internal:(?:subscription_succeeded|member_added)$/);
      }
    };
    await Promise.all(all.map((client) => hears(client, 'pusher_internal:subscription_succeeded')));
    expect((await usersAt(one)).toSorted()).toEqual(users.toSorted());

    const [stream = ''] = (await askRedis(cluster.redis, 'PUBSUB', 'CHANNELS', `*/${ROOM}`)).split(
      '\n',
    );
    expect(await askRedis(cluster.redis, 'PUBSUB', 'NUMSUB', stream)).toMatch(/\b2\s*$/);
    const names = Array.from({ length: 20 }, (_, n) => `event-${n}`);
    for (const [n, name] of names.entries()) {
      await (n % 2 === 0 ? one : two).trigger({ name, channel: ROOM, data: 'x' });
    }
    await Promise.all(
      all.map(async (client) => {
        await hears(client, names[0] ?? '');
        for (const event of names.slice(1)) {
          expect(await client.receive()).toEqual({ event, channel: ROOM, data: 'x' });
        }
        await client.receiveNothing();
      }),
    );
  },
);
