import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { ReceivedEvent } from '../../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp } from '../../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../../testing/servers/webhook-endpoint.ts';
import { close, dataOf, eightClients, signsIn } from './several-clients.ts';

function watchlistEvents(received: ReceivedEvent): unknown {
  expect(received.event).toBe('pusher_internal:watchlist_events');
  return (dataOf(received) as { events: unknown }).events;
}

describe.each([2, 4])('users on %d threads', (threads) => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({
      threads,
      config: { webhooks: { allowPrivateAddresses: true } },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('are reported once as online and once as offline, whatever threads their connections are on', async () => {
    const app = await newApp(server, { watchlists: true });
    const watchers = await eightClients(app);
    const watchlist = ['ann', 'bob', 'eve', 'zoe'];
    for (const [place, client] of watchers.entries()) {
      await signsIn(app, client, { id: `watcher-${place}`, watchlist });
      expect(watchlistEvents(await client.receive())).toEqual([
        { name: 'offline', user_ids: watchlist },
      ]);
    }

    const ofAnn = await eightClients(app);
    await Promise.all(ofAnn.map((client) => signsIn(app, client, { id: 'ann' })));
    await close(ofAnn);

    for (const name of ['online', 'offline']) {
      for (const client of watchers) {
        expect(watchlistEvents(await client.receive())).toEqual([{ name, user_ids: ['ann'] }]);
      }
    }
    await close(watchers);
  });

  it('are told to webhooks once as online and once as offline, and found by every thread', async () => {
    using backend = startWebhookEndpoint();
    const events = ['user_online', 'user_offline'];
    const users = ['ann', 'bob', 'eve', 'zoe'];
    const webhooks = [{ url: backend.url, events, batching: false }];
    const app = await newApp(server, { offlineSeconds: 1, webhooks });
    const statuses = async () => {
      const answer = await app.post('/users/status', { user_ids: users });
      const found: { readonly online: boolean; readonly last_seen_ms: number | null }[] =
        JSON.parse(await answer.text()).users;
      return found.map(({ online, last_seen_ms }) => `${online} ${last_seen_ms !== null}`);
    };
    const told = async () => {
      const all: string[] = [];
      while (all.length < users.length) {
        const { name, user_id } = await backend.events.next();
        all.push(`${name} ${user_id}`);
      }
      return all.toSorted();
    };
    const clients = await Promise.all(users.map(() => eightClients(app)));
    for (const [n, id] of users.entries()) {
      for (const client of clients[n] ?? []) await signsIn(app, client, { id });
    }
    expect(await told()).toEqual(users.map((user) => `user_online ${user}`));
    for (let n = 0; n < 2 * threads; n++) {
      expect(await statuses()).toEqual(users.map(() => 'true false'));
    }
    await close(clients.flat());
    expect(await told()).toEqual(users.map((user) => `user_offline ${user}`));
    for (let n = 0; n < 2 * threads; n++) {
      expect(await statuses()).toEqual(users.map(() => 'false true'));
    }
    expect(backend.asked()).toBe(2 * users.length);
  });

  it('get what is sent to them on all their connections, once, and others do not', async () => {
    const app = await newApp(server);
    const [other, ...ofAnn] = await eightClients(app);
    if (other === undefined) throw new Error('No client');
    await signsIn(app, other, { id: 'bob' });
    for (const client of ofAnn) await signsIn(app, client, { id: 'ann' });
    const channel = (user: string) => `#server-to-user-${user}`;
    const enters = async (client: AppClient, user: string) => {
      client.send({ event: 'pusher:subscribe', data: { channel: channel(user) } });
      await client.receive();
    };
    await enters(other, 'bob');
    for (const client of ofAnn) await enters(client, 'ann');

    await app.trigger({ name: 'one', channel: channel('ann'), data: 'x' });
    await app.trigger({ name: 'two', channel: channel('ann'), data: 'x' });
    await app.trigger({ name: 'three', channel: channel('bob'), data: 'x' });

    for (const client of ofAnn) {
      expect(await client.receive()).toMatchObject({ event: 'one', channel: channel('ann') });
      expect(await client.receive()).toMatchObject({ event: 'two', channel: channel('ann') });
    }
    expect(await other.receive()).toMatchObject({ event: 'three', channel: channel('bob') });
    await close([other, ...ofAnn]);
  });

  it('lose all connections that are signed in as them when they are terminated, and others none', async () => {
    const app = await newApp(server);
    const clients = await eightClients(app);
    const others = clients.slice(0, 2);
    const ofAnn = clients.slice(2);
    for (const client of others) await signsIn(app, client, { id: 'bob' });
    for (const client of ofAnn) await signsIn(app, client, { id: 'ann' });

    expect((await app.post('/users/ann/terminate_connections', {})).status).toBe(200);

    for (const client of ofAnn) expect(await client.closed).toMatchObject({ code: 4009 });
    for (const client of others) await client.receiveNothing();
    await close(others);
  });
});
