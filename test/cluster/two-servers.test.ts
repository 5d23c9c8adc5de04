import { describe, expect, it } from 'bun:test';
import type { TestApp } from '../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { enters, ROOM, startCluster, usersAt } from './cluster.ts';

/** Servers that share Redis and PostgreSQL are one server to their users. */

describe('two servers', () => {
  it.each([1, 2])(
    'with %d threads each are one server to clients and backends',
    async (threads) => {
      await using servers = await startCluster(2, { threads, app: { subscriptionCounts: true } });
      const [one, two] = servers.apps as [TestApp, TestApp];
      await using ann = await one.connect();
      await using bob = await two.connect();
      await enters(one, ann, 'ann');
      await enters(two, bob, 'bob');
      expect(await ann.receive()).toMatchObject({ event: 'pusher_internal:member_added' });
      expect(await usersAt(one)).toEqual(['ann', 'bob']);
      expect(await usersAt(two)).toEqual(['ann', 'bob']);

      const names = Array.from({ length: 20 }, (_, n) => `e${n}`);
      for (const [n, name] of names.entries()) {
        await (n % 2 === 0 ? one : two).trigger({ name, channel: ROOM, data: 'x' });
      }
      for (const client of [ann, bob]) {
        for (const event of names) {
          expect(await client.receive()).toEqual({ event, channel: ROOM, data: 'x' });
        }
      }
      await one.trigger({ name: 'not-for-bob', channel: ROOM, data: 'x', socket_id: bob.socketId });
      expect(await ann.receive()).toMatchObject({ event: 'not-for-bob' });
      bob.send({ event: 'pusher:unsubscribe', data: { channel: ROOM } });
      expect(await ann.receive()).toMatchObject({ event: 'pusher_internal:member_removed' });
      await bob.receiveNothing();
    },
  );

  it('share what a cache channel remembers, who is online, and whom a backend terminates', async () => {
    await using servers = await startCluster(2, { app: { watchlists: true } });
    const [one, two] = servers.apps as [TestApp, TestApp];
    await one.trigger({ name: 'last', channel: 'cache-x', data: 'x' });
    await using ann = await two.connect();
    await ann.subscribe('cache-x');
    expect(await ann.receive()).toEqual({ event: 'last', channel: 'cache-x', data: 'x' });

    ann.send(two.signIn(ann, { id: 'ann', watchlist: ['bob'] }));
    expect(await ann.receive()).toMatchObject({ event: 'pusher:signin_success' });
    expect(await ann.receive()).toMatchObject({ event: 'pusher_internal:watchlist_events' });
    await using bob = await one.connect();
    bob.send(one.signIn(bob, { id: 'bob' }));
    expect(await bob.receive()).toMatchObject({ event: 'pusher:signin_success' });
    expect(JSON.stringify(await ann.receive())).toContain('online');
    expect((await one.post('/users/ann/terminate_connections', {})).status).toBe(200);
    expect(await ann.closed).toMatchObject({ code: 4009 });
  });

  it('report to webhooks once', async () => {
    using backend = startWebhookEndpoint();
    const events = ['channel_occupied', 'channel_vacated', 'member_added', 'member_removed'];
    const webhooks = [{ url: backend.url, events, batching: false }];
    await using servers = await startCluster(2, { app: { webhooks } });
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
