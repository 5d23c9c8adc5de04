import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { channelAuth } from '../../../testing/clients/sign.ts';
import { startWithWebhooks, withWebhooks } from '../../../testing/servers/app-with-webhooks.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { fieldNames, startRawEndpoint } from '../../../testing/servers/raw-endpoint.ts';
import { restart } from '../../../testing/servers/restart.ts';
import { newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import { isSignedWith, startWebhookEndpoint } from '../../../testing/servers/webhook-endpoint.ts';

/** How webhook events are sent. Source: Channels protocol, §15. */

let server: Fanfare;
beforeAll(async () => {
  server = await startWithWebhooks();
});
afterAll(() => server[Symbol.asyncDispose]());

async function occupies(app: TestApp, channels: readonly string[]): Promise<RawClient> {
  const client = await app.connect();
  for (const channel of channels) {
    client.send({ event: 'pusher:subscribe', data: { channel, auth: '' } });
  }
  return client;
}

const manyChannels = (count: number) => Array.from({ length: count }, (_, n) => `channel-${n}`);

describe('a webhook request', () => {
  it('is a POST of exactly application/json, with the key and the signature of its body', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url }]));
    const before = Date.now();
    await using _ann = await occupies(app, ['news']);
    const request = await backend.requests.next();
    expect(request).toMatchObject({
      method: 'POST',
      path: '/webhooks',
      contentType: 'application/json',
      key: app.key,
    });
    expect(request.signature).toMatch(/^[0-9a-f]{64}$/);
    expect(isSignedWith(request, app)).toBe(true);
    expect(request.headers['content-length']).toBe(String(Buffer.byteLength(request.body)));
    expect(Object.keys(JSON.parse(request.body)).toSorted()).toEqual(['events', 'time_ms']);
    expect(Number.isSafeInteger(request.timeMs)).toBe(true);
    expect(request.timeMs).toBeWithin(before, Date.now() + 1);
    expect(request.events).toEqual([{ name: 'channel_occupied', channel: 'news' }]);
  });

  it('has header fields with the names of the documentation, to the letter, which PHP compares', async () => {
    using backend = startRawEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url }]));
    await using _ann = await occupies(app, ['news']);
    const head = await backend.heads.next();
    expect(head).toContain(`\r\nX-Pusher-Key: ${app.key}\r\n`);
    expect(head).toMatch(/\r\nX-Pusher-Signature: [0-9a-f]{64}\r\n/);
    expect(head).toContain('\r\nUser-Agent: pusher-webhooks\r\n');
    expect(fieldNames(head)).toEqual([
      'Accept',
      'Connection',
      'Content-Length',
      'Content-Type',
      'Host',
      'User-Agent',
      'X-Pusher-Key',
      'X-Pusher-Signature',
    ]);
  });

  it('is signed with the oldest key of the app, even if clients use another', async () => {
    using backend = startWebhookEndpoint();
    const oldest = { key: randomUUID(), secret: 'its secret' };
    const newer = { key: randomUUID(), secret: 'another secret' };
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url }], { keys: [oldest, newer] }),
    );
    await using client = await app.connect({ path: pathOf(7, newer.key) });
    await client.subscribe('news');
    const request = await backend.requests.next();
    expect(isSignedWith(request, oldest)).toBe(true);
    expect(isSignedWith(request, newer)).toBe(false);
  });

  it('is signed over the bytes of its body, also if they are not ASCII', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(
      server,
      withWebhooks([{ url: backend.url, events: ['member_added'] }]),
    );
    await using ann = await app.connect();
    const channel = 'presence-x';
    await ann.subscribe(channel, app.auth(ann, channel, '{"user_id":"zoë ✓ 🎺"}'));
    const request = await backend.requests.next();
    expect(isSignedWith(request, app)).toBe(true);
    expect(request.events).toEqual([{ name: 'member_added', channel, user_id: 'zoë ✓ 🎺' }]);
  });

  it('that fails is sent again, byte for byte, until it is answered with 2xx', async () => {
    using backend = startWebhookEndpoint([500, 302, 404, 201]);
    const app = await newApp(server, withWebhooks([{ url: backend.url }]));
    await using _ann = await occupies(app, ['news']);
    const requests = [];
    for (let n = 0; n < 4; n++) requests.push(await backend.requests.next());
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    expect(requests.every((request) => isSignedWith(request, app))).toBe(true);
    // 201 settles it: the next request is another one.
    await using _bob = await occupies(app, ['more']);
    expect((await backend.requests.next()).events).toEqual([
      { name: 'channel_occupied', channel: 'more' },
    ]);
    expect(backend.asked()).toBe(5);
  });

  it('is not sent to a private address unless that is allowed, and the log warns of it', async () => {
    using backend = startWebhookEndpoint();
    await using strict = await startFanfare();
    const app = await newApp(strict, withWebhooks([{ url: backend.url }]));
    await using ann = await occupies(app, ['news']);
    const line = JSON.parse(await strict.logged(/Webhook failed/));
    expect(line).toMatchObject({
      level: 'warn',
      app: app.id,
      reason: expect.stringMatching(/^Not allowed: .*; webhooks\.allowPrivateAddresses allows it$/),
    });
    // The log holds no address: a path may hold a secret.
    expect(strict.output.stderr).not.toContain('/webhooks');
    expect(backend.asked()).toBe(0);
    await ann.receive();
  });

  it('for events not yet sent when the server stops is sent after the next start', async () => {
    using backend = startWebhookEndpoint();
    await using stopping = await startWithWebhooks([
      { url: backend.url, events: ['channel_vacated', 'member_removed'] },
    ]);
    await using ann = await RawClient.connect(stopping);
    const channel = 'presence-x';
    await ann.subscribe(channel, channelAuth(ann.socketId, channel, '{"user_id":"ann"}'));
    await using _back = await restart(stopping);
    const events = [await backend.events.next(), await backend.events.next()];
    expect(events.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'channel_vacated', channel },
      { name: 'member_removed', channel, user_id: 'ann' },
    ]);
  });
});

describe('batching', () => {
  it('off sends one event per request', async () => {
    using backend = startWebhookEndpoint();
    const app = await newApp(server, withWebhooks([{ url: backend.url, batching: false }]));
    await using _ann = await occupies(app, manyChannels(45));
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
    const app = await newApp(server, withWebhooks([{ url: backend.url, batching: true }]));
    await using _ann = await occupies(app, manyChannels(90));
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
});

describe('several endpoints', () => {
  it('each get their own events, with their own batching', async () => {
    using all = startWebhookEndpoint();
    using few = startWebhookEndpoint();
    using broken = startWebhookEndpoint(Array.from({ length: 1000 }, () => 500));
    const app = await newApp(
      server,
      withWebhooks([
        { url: broken.url, batching: false },
        { url: all.url, batching: true },
        { url: few.url, batching: false, events: ['member_added', 'cache_miss'] },
      ]),
    );
    await using ann = await app.connect();
    const channel = 'presence-cache-x';
    await ann.subscribe(channel, app.auth(ann, channel, '{"user_id":"ann"}'));
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

  it('of different apps get only the events of their own app', async () => {
    using ours = startWebhookEndpoint();
    using theirs = startWebhookEndpoint();
    const ourApp = await newApp(server, withWebhooks([{ url: ours.url }]));
    const theirApp = await newApp(server, withWebhooks([{ url: theirs.url }]));
    await using _stranger = await occupies(theirApp, ['theirs']);
    await using _ann = await occupies(ourApp, ['ours']);
    const toThem = await theirs.requests.next();
    expect(toThem.events).toEqual([{ name: 'channel_occupied', channel: 'theirs' }]);
    expect(isSignedWith(toThem, theirApp)).toBe(true);
    expect((await ours.requests.next()).events).toEqual([
      { name: 'channel_occupied', channel: 'ours' },
    ]);
  });
});
