import { describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { channelAuth } from '../../../testing/clients/sign.ts';
import { EVENT_TYPES, startWithWebhooks } from '../../../testing/servers/app-with-webhooks.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { restart } from '../../../testing/servers/restart.ts';
import { isSignedWith, startWebhookEndpoint } from '../../../testing/servers/webhook-endpoint.ts';

/** How webhook events are sent. Source: Channels protocol, §15. */

async function occupies(server: Fanfare, channels: readonly string[]): Promise<RawClient> {
  const client = await RawClient.connect(server);
  for (const channel of channels) {
    client.says({ event: 'pusher:subscribe', data: { channel, auth: '' } });
  }
  return client;
}

const manyChannels = (count: number) => Array.from({ length: count }, (_, n) => `channel-${n}`);

describe('a webhook request', () => {
  it('is a POST of exactly application/json, with the key and the signature of its body', async () => {
    using backend = startWebhookEndpoint();
    await using server = await startWithWebhooks([{ url: backend.url }]);
    const before = Date.now();
    await using _ann = await occupies(server, ['news']);
    const request = await backend.requests.next();
    expect(request).toMatchObject({
      method: 'POST',
      path: '/webhooks',
      contentType: 'application/json',
      key: APP.key,
    });
    expect(request.signature).toMatch(/^[0-9a-f]{64}$/);
    expect(isSignedWith(request)).toBe(true);
    expect(request.headers['content-length']).toBe(String(Buffer.byteLength(request.body)));
    expect(Object.keys(JSON.parse(request.body)).toSorted()).toEqual(['events', 'time_ms']);
    expect(Number.isSafeInteger(request.timeMs)).toBe(true);
    expect(request.timeMs).toBeWithin(before, Date.now() + 1);
    expect(request.events).toEqual([{ name: 'channel_occupied', channel: 'news' }]);
  });

  it('is signed with the oldest key of the app, whatever key a client uses', async () => {
    using backend = startWebhookEndpoint();
    const newer = { key: 'newer', secret: 'its secret' };
    await using server = await startWithWebhooks([{ url: backend.url }], {
      keys: [{ key: APP.key, secret: APP.secret }, newer],
    });
    await using client = await RawClient.connect(server, { path: pathOf(7, newer.key) });
    await client.subscribes('news');
    const request = await backend.requests.next();
    expect(isSignedWith(request)).toBe(true);
    expect(isSignedWith(request, newer)).toBe(false);
  });

  it('is signed over the bytes of its body, also where they are not ASCII', async () => {
    using backend = startWebhookEndpoint();
    await using server = await startWithWebhooks([{ url: backend.url, events: ['member_added'] }]);
    await using ann = await RawClient.connect(server);
    const channel = 'presence-x';
    await ann.subscribes(channel, channelAuth(ann.socketId, channel, '{"user_id":"zoë ✓ 🎺"}'));
    const request = await backend.requests.next();
    expect(isSignedWith(request)).toBe(true);
    expect(request.events).toEqual([{ name: 'member_added', channel, user_id: 'zoë ✓ 🎺' }]);
  });

  it('that is answered with 500 comes again, the same to the byte, until it is answered with 2xx', async () => {
    using backend = startWebhookEndpoint([500, 302, 404, 201]);
    await using server = await startWithWebhooks([{ url: backend.url }]);
    await using _ann = await occupies(server, ['news']);
    const requests = [];
    for (let n = 0; n < 4; n++) requests.push(await backend.requests.next());
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(requests.every((request) => isSignedWith(request))).toBe(true);
    // With 201 it is done: what comes next is another.
    await using _bob = await occupies(server, ['more']);
    expect((await backend.requests.next()).events).toEqual([
      { name: 'channel_occupied', channel: 'more' },
    ]);
    expect(backend.asked()).toBe(5);
  });

  it('is not sent to a private address unless that is allowed, and an operator is told', async () => {
    using backend = startWebhookEndpoint();
    const webhooks = [{ url: backend.url, events: EVENT_TYPES }];
    await using server = await startFanfare({ app: { webhooks } });
    await using ann = await occupies(server, ['news']);
    const line = JSON.parse(await server.logged(/Webhook failed/));
    expect(line).toMatchObject({
      level: 'warn',
      app: APP.id,
      reason: expect.stringMatching(/^Not allowed: /),
    });
    // The log holds no address: a path may hold a secret.
    expect(server.output.stderr).not.toContain('/webhooks');
    expect(backend.asked()).toBe(0);
    await ann.hears();
  });

  it('with what was held back when the server stopped is sent when it is back', async () => {
    using backend = startWebhookEndpoint();
    await using server = await startWithWebhooks([
      { url: backend.url, events: ['channel_vacated', 'member_removed'] },
    ]);
    await using ann = await RawClient.connect(server);
    const channel = 'presence-x';
    await ann.subscribes(channel, channelAuth(ann.socketId, channel, '{"user_id":"ann"}'));
    await using _back = await restart(server);
    const told = [await backend.events.next(), await backend.events.next()];
    expect(told.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'channel_vacated', channel },
      { name: 'member_removed', channel, user_id: 'ann' },
    ]);
  });
});

describe('batching', () => {
  it('off sends one event per request', async () => {
    using backend = startWebhookEndpoint();
    await using server = await startWithWebhooks([{ url: backend.url, batching: false }]);
    await using _ann = await occupies(server, manyChannels(45));
    const channels = new Set<string>();
    for (let n = 0; n < 45; n++) {
      const { events } = await backend.requests.next();
      expect(events).toHaveLength(1);
      for (const { channel } of events) channels.add(channel);
    }
    expect(channels).toEqual(new Set(manyChannels(45)));
  });

  it('on sends up to 20 events per request, each once', async () => {
    using backend = startWebhookEndpoint();
    await using server = await startWithWebhooks([{ url: backend.url, batching: true }]);
    await using _ann = await occupies(server, manyChannels(90));
    const sizes: number[] = [];
    const channels: string[] = [];
    while (channels.length < 90) {
      const { events } = await backend.requests.next();
      sizes.push(events.length);
      channels.push(...events.map(({ channel }) => channel));
    }
    expect(Math.max(...sizes)).toBe(20);
    expect(channels.toSorted()).toEqual(manyChannels(90).toSorted());
  });

  it('on keeps an event for 250 ms at most', async () => {
    using backend = startWebhookEndpoint();
    await using server = await startWithWebhooks([{ url: backend.url, batching: true }]);
    const waitsMs: number[] = [];
    for (let n = 0; n < 5; n++) {
      await using _client = await occupies(server, [`channel-${n}`]);
      const { cameAtMs, timeMs } = await backend.requests.next();
      waitsMs.push(cameAtMs - Number(timeMs));
    }
    // A busy machine may delay one of them, and not all.
    expect(Math.min(...waitsMs)).toBeLessThan(300);
  });
});

describe('several endpoints', () => {
  it('each get what they asked for, in their own way', async () => {
    using all = startWebhookEndpoint();
    using few = startWebhookEndpoint();
    using broken = startWebhookEndpoint(Array.from({ length: 1000 }, () => 500));
    await using server = await startWithWebhooks([
      { url: broken.url, batching: false },
      { url: all.url, batching: true },
      { url: few.url, batching: false, events: ['member_added', 'cache_miss'] },
    ]);
    await using ann = await RawClient.connect(server);
    const channel = 'presence-cache-x';
    await ann.subscribes(channel, channelAuth(ann.socketId, channel, '{"user_id":"ann"}'));
    const added = { name: 'member_added', channel, user_id: 'ann' };
    const missed = { name: 'cache_miss', channel };
    const byName = <T extends { name: string }>(events: T[]) =>
      events.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const toFew = [await few.events.next(), await few.events.next()];
    expect(byName(toFew)).toEqual([missed, added]);
    const toAll = [await all.events.next(), await all.events.next(), await all.events.next()];
    expect(byName(toAll)).toEqual([missed, { name: 'channel_occupied', channel }, added]);
    await broken.requests.next();
  });

  it('of different apps get only what happens in their own', async () => {
    using ours = startWebhookEndpoint();
    using theirs = startWebhookEndpoint();
    const other = { key: 'other-key', secret: 'other-secret' };
    await using server = await startFanfare({
      app: { webhooks: [{ url: ours.url, events: EVENT_TYPES }] },
      moreApps: [{ id: '4', keys: [other], webhooks: [{ url: theirs.url, events: EVENT_TYPES }] }],
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    await using stranger = await RawClient.connect(server, { path: pathOf(7, other.key) });
    await stranger.subscribes('theirs');
    await using _ann = await occupies(server, ['ours']);
    const toThem = await theirs.requests.next();
    expect(toThem.events).toEqual([{ name: 'channel_occupied', channel: 'theirs' }]);
    expect(isSignedWith(toThem, other)).toBe(true);
    expect((await ours.requests.next()).events).toEqual([
      { name: 'channel_occupied', channel: 'ours' },
    ]);
  });
});
