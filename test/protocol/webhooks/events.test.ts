import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { RawClient } from '../../../testing/clients/raw-client.ts';
import { startWithWebhooks, withWebhooks } from '../../../testing/servers/app-with-webhooks.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../../testing/servers/webhook-endpoint.ts';

/** What each webhook event says, and when it is sent. Source: Channels protocol, §15. */

let server: Fanfare;
beforeAll(async () => {
  server = await startWithWebhooks();
});
afterAll(() => server[Symbol.asyncDispose]());

const PRESENCE = 'presence-room';

async function enters(app: TestApp, client: AppClient, user: string): Promise<void> {
  const data = JSON.stringify({ user_id: user, user_info: { name: user } });
  await client.subscribe(PRESENCE, app.auth(client, PRESENCE, data));
}

function leave(client: RawClient, channel: string): void {
  client.send({ event: 'pusher:unsubscribe', data: { channel } });
}

describe.concurrent('a channel', () => {
  it('is reported as occupied at once and as vacated after 3 seconds', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url }]));
    await using ann = await app.connect();
    await using bob = await app.connect();
    await ann.subscribe('news');
    expect(await backend.events.next()).toEqual({ name: 'channel_occupied', channel: 'news' });
    await bob.subscribe('news');
    leave(ann, 'news');
    const leftAtMs = Date.now();
    leave(bob, 'news');
    await bob.receiveNothing();
    const { body, timeMs } = await backend.requests.first(({ body }) => /vacated/.test(body));
    expect(JSON.parse(body)).toEqual({
      time_ms: timeMs,
      events: [{ name: 'channel_vacated', channel: 'news' }],
    });
    expect(timeMs).toBeWithin(leftAtMs + 2990, leftAtMs + 60_000);
  });

  it('is neither vacated nor occupied again when the client is back at once', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url }]));
    await using ann = await app.connect();
    await using bob = await app.connect();
    await ann.subscribe('stays');
    await bob.subscribe('goes');
    await ann[Symbol.asyncDispose]();
    await using back = await app.connect();
    await back.subscribe('stays');
    await bob[Symbol.asyncDispose]();
    // This event comes last: those of the other channel come before it or with it.
    const names: string[] = [];
    await backend.events.first(({ name, channel }) => {
      names.push(`${name} ${channel}`);
      return name === 'channel_vacated';
    });
    expect(names.toSorted()).toEqual([
      'channel_occupied goes',
      'channel_occupied stays',
      'channel_vacated goes',
    ]);
  });
});

describe.concurrent('a member', () => {
  it('is reported as added and removed, once for all their connections', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url, events: ['member_added', 'member_removed'] }]),
    );
    await using ann = await app.connect();
    await enters(app, ann, 'ann');
    const added = { name: 'member_added', channel: PRESENCE, user_id: 'ann' };
    expect(await backend.events.next()).toEqual(added);
    const bob = [await app.connect(), await app.connect()];
    for (const client of bob) await enters(app, client, 'bob');
    expect(await backend.events.next()).toEqual({ ...added, user_id: 'bob' });
    for (const client of bob) await client[Symbol.asyncDispose]();
    expect(await backend.events.next()).toEqual({
      name: 'member_removed',
      channel: PRESENCE,
      user_id: 'bob',
    });
  });

  it('who is back at once, on any connection, is neither removed nor added', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url, events: ['member_added', 'member_removed'] }]),
    );
    await using ann = await app.connect();
    await using bob = await app.connect();
    await enters(app, ann, 'ann');
    await enters(app, bob, 'bob');
    await ann[Symbol.asyncDispose]();
    await using back = await app.connect();
    await enters(app, back, 'ann');
    await bob[Symbol.asyncDispose]();
    const reported: string[] = [];
    await backend.events.first(({ name, user_id }) => {
      reported.push(`${name} ${user_id}`);
      return name === 'member_removed';
    });
    expect(reported.toSorted()).toEqual([
      'member_added ann',
      'member_added bob',
      'member_removed bob',
    ]);
  });
});

describe.concurrent('a client event', () => {
  it('is reported with its data as text, its connection, and its user in presence channels', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url, events: ['client_event'] }]),
    );
    await using ann = await app.connect();
    await ann.subscribe('private-chat', app.auth(ann, 'private-chat'));
    await enters(app, ann, 'ann');
    const event = { name: 'client_event', event: 'client-said', socket_id: ann.socketId };
    const send = (channel: string, data: unknown) =>
      ann.send({ event: 'client-said', channel, data });

    send('private-chat', 'text');
    expect(await backend.events.next()).toEqual({
      ...event,
      channel: 'private-chat',
      data: 'text',
    });
    send('private-chat', { to: 'bob', list: [1, null] });
    expect(await backend.events.next()).toEqual({
      ...event,
      channel: 'private-chat',
      data: '{"to":"bob","list":[1,null]}',
    });
    send(PRESENCE, 'é ✓ "\\ \n');
    expect(await backend.events.next()).toEqual({
      ...event,
      channel: PRESENCE,
      data: 'é ✓ "\\ \n',
      user_id: 'ann',
    });
  });

  it('is not reported if it was refused or sent by a backend', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url, events: ['client_event'] }]),
    );
    await using ann = await app.connect();
    await ann.subscribe('private-chat', app.auth(ann, 'private-chat'));
    ann.send({ event: 'client-said', channel: 'private-other', data: 'x' });
    await app.trigger({ name: 'client-said', channels: ['private-chat'], data: 'x' });
    ann.send({ event: 'client-said', channel: 'private-chat', data: 'the only one' });
    expect(await backend.events.next()).toMatchObject({ data: 'the only one' });
  });
});

describe.concurrent('a cache miss', () => {
  it('is reported once for many clients, and again only after an event was cached', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url, events: ['cache_miss'] }]));
    await using ann = await app.connect();
    for (const channel of ['cache-a', 'cache-b']) {
      const others = [];
      await ann.subscribe(channel);
      expect((await ann.receive()).event).toBe('pusher:cache_miss');
      for (let n = 0; n < 5; n++) {
        const other = await app.connect();
        await other.subscribe(channel);
        expect((await other.receive()).event).toBe('pusher:cache_miss');
        others.push(other);
      }
      expect(await backend.events.next()).toEqual({ name: 'cache_miss', channel });
      for (const other of others) await other[Symbol.asyncDispose]();
    }
    await app.trigger({ name: 'e', channels: ['cache-a'], data: 'x' });
    await using late = await app.connect();
    await late.subscribe('cache-a');
    expect((await late.receive()).event).toBe('e');
    await late.subscribe('cache-c');
    expect(await backend.events.next()).toEqual({ name: 'cache_miss', channel: 'cache-c' });
  });
});

describe.concurrent('a subscription count', () => {
  it('is reported after each subscription and unsubscription, also at 0', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url, events: ['subscription_count'] }], {
        subscriptionCounts: true,
      }),
    );
    await using ann = await app.connect();
    await using bob = await app.connect();
    const reported = async () => {
      const { subscription_count, ...rest } = await backend.events.next();
      expect(rest).toEqual({ name: 'subscription_count', channel: 'news' });
      return subscription_count;
    };
    // Presence channels are never reported.
    await enters(app, ann, 'ann');
    await ann.subscribe('news');
    expect(await reported()).toBe(1);
    await bob.subscribe('news');
    expect(await reported()).toBe(2);
    leave(ann, 'news');
    expect(await reported()).toBe(1);
    await bob[Symbol.asyncDispose]();
    expect(await reported()).toBe(0);
  });

  it('is reported 5 times a second up to 100 and every 5 seconds above, and always at the end', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url, events: ['subscription_count'], batching: false }], {
        subscriptionCounts: true,
      }),
    );
    const clients = [];
    for (let n = 0; n < 120; n++) {
      const client = await app.connect();
      await client.subscribe('news');
      clients.push(client);
    }
    const last = clients.at(-1);
    const receivedByLast = last?.receive();
    const reported: { count: number; atMs: number }[] = [];
    await backend.requests.first(({ events, timeMs }) => {
      for (const { subscription_count: count } of events) {
        reported.push({ count: Number(count), atMs: Number(timeMs) });
      }
      return reported.some(({ count }) => count === 120);
    });
    reported.sort((a, b) => a.count - b.count);
    expect(reported.slice(0, 5).map(({ count }) => count)).toEqual([1, 2, 3, 4, 5]);
    for (const { atMs } of reported.filter(({ count }) => count <= 100)) {
      const inSecond = reported.filter((one) => one.atMs >= atMs && one.atMs < atMs + 1000);
      expect(inSecond.length).toBeLessThanOrEqual(6);
    }
    const large = reported.filter(({ count }) => count > 100);
    expect(large.at(-1)?.count).toBe(120);
    for (const [index, { atMs }] of large.slice(1).entries()) {
      // A timer may be a millisecond early by another clock.
      expect(atMs - (large[index]?.atMs ?? 0)).toBeGreaterThanOrEqual(4990);
    }
    expect(await receivedByLast).toEqual({
      event: 'pusher_internal:subscription_count',
      channel: 'news',
      data: '{"subscription_count":120}',
    });
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('is not reported if the app does not count', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url, batching: true }]));
    await using ann = await app.connect();
    await ann.subscribe('first');
    await ann.subscribe('second');
    expect(await backend.events.next()).toEqual({ name: 'channel_occupied', channel: 'first' });
    expect(await backend.events.next()).toEqual({ name: 'channel_occupied', channel: 'second' });
  });
});

describe.concurrent('a user', () => {
  const events = ['user_online', 'user_offline'];
  const signedIn = async (app: TestApp, id: string) => {
    const client = await app.connect();
    client.send(app.signIn(client, { id }));
    expect((await client.receive()).event).toBe('pusher:signin_success');
    return client;
  };

  it('is reported as online and offline once for all their connections, and not for a reload', async () => {
    using backend = startWebhookEndpoint();
    const settings = { offlineSeconds: 1 };
    const app = await newApp(server, withWebhooks([{ url: backend.url, events }], settings));
    const tabs = [await signedIn(app, 'ann'), await signedIn(app, 'ann')];
    expect<object>(await backend.events.next()).toEqual({ name: 'user_online', user_id: 'ann' });
    for (const tab of tabs) await tab[Symbol.asyncDispose]();
    const back = await signedIn(app, 'ann');
    const leftAtMs = Date.now();
    await back[Symbol.asyncDispose]();
    const { body, timeMs } = await backend.requests.first(({ body }) => /offline/.test(body));
    const [event] = JSON.parse(body).events;
    const lastSeenMs = event.last_seen_ms;
    expect(event).toEqual({ name: 'user_offline', user_id: 'ann', last_seen_ms: lastSeenMs });
    expect(lastSeenMs).toBeWithin(leftAtMs, Number(timeMs) - 990 + 1);
    await using _again = await signedIn(app, 'ann');
    const told = [await backend.events.next(), await backend.events.next()];
    expect(told.map(({ name }) => name)).toEqual(['user_offline', 'user_online']);
  });

  it('is not reported for a connection that has not signed in', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url, events }]));
    await using ann = await app.connect();
    await enters(app, ann, 'ann');
    ann.send({ event: 'pusher:signin', data: { auth: `${app.key}:0`, user_data: '{"id":"ann"}' } });
    expect((await ann.receive()).event).toBe('pusher:error');
    await using _bob = await signedIn(app, 'bob');
    expect<object>(await backend.events.next()).toEqual({ name: 'user_online', user_id: 'bob' });
  });
});

describe.concurrent('the channel of a user', () => {
  it('is not reported', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url }], {
        subscriptionCounts: true,
      }),
    );
    await using ann = await app.connect();
    ann.send(app.signIn(ann, { id: 'ann' }));
    expect((await ann.receive()).event).toBe('pusher:signin_success');
    await ann.subscribe('#server-to-user-ann');
    await ann.receiveNothing();
    leave(ann, '#server-to-user-ann');
    await ann.subscribe('public');
    leave(ann, 'public');
    const channels = new Set<string>();
    await backend.events.first(({ name, channel }) => {
      channels.add(channel);
      return name === 'channel_vacated';
    });
    expect([...channels]).toEqual(['public']);
  });
});
