import { describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api, channelAuth, trigger } from '../../testing/clients/sign.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { attack, expectCalm, pingDuring } from './neighbour.ts';
import { residentBytes } from './resident-bytes.ts';

/** Resources that apps share: webhooks, cached events, memory, the log. Strangers must not use up those of an owner. */

const LOUD_KEY = { key: 'loud-key', secret: 'loud-secret' };
const LOUD_PATH = pathOf(7, LOUD_KEY.key);
const EVENTS = ['channel_occupied', 'channel_vacated'];

describe('webhooks of an app', () => {
  it('all arrive soon while a client of another app causes as many events as it can', async () => {
    using mine = startWebhookEndpoint();
    using theirs = startWebhookEndpoint();
    await using server = await startFanfare({
      app: { webhooks: [{ url: mine.url, events: ['channel_occupied'] }] },
      moreApps: [
        {
          id: 'loud',
          keys: [LOUD_KEY],
          webhooks: [{ url: theirs.url, events: EVENTS, batching: false }],
        },
      ],
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    await using honest = await RawClient.connect(server);
    const storm = attack<{ toggles: number }>('toggles', {
      port: server.port,
      path: LOUD_PATH,
      seconds: 3,
    });
    /** How many webhooks of the other app had come when each channel was occupied. */
    const theirsBefore = new Map<string, number>();
    const arrivals = async () => {
      const between: number[] = [];
      while (between.length < 60) {
        const { channel } = await mine.events.next();
        between.push(theirs.asked() - (theirsBefore.get(channel) ?? 0));
      }
      return between.toSorted((a, b) => a - b);
    };
    const arriving = arrivals();
    for (let n = 0; n < 60; n++) {
      const channel = `quiet-${n}`;
      theirsBefore.set(channel, theirs.asked());
      await honest.subscribe(channel);
      await Bun.sleep(50);
    }
    const between = await arriving;
    const { toggles } = await storm;
    // In one queue for all, most would wait for the greater part of the two events of each toggle.
    expect(between[45]).toBeLessThan(toggles / 2);
  }, 180_000);

  it('arrive while another app has 200 endpoints that never answer', async () => {
    using mine = startWebhookEndpoint();
    using silent = Bun.serve({
      port: 0,
      idleTimeout: 0,
      fetch: () => Promise.withResolvers<Response>().promise,
    });
    await using server = await startFanfare({
      app: { webhooks: [{ url: mine.url, events: ['channel_occupied'] }] },
      moreApps: [
        {
          id: 'loud',
          keys: [LOUD_KEY],
          webhooks: Array.from({ length: 200 }, (_, n) => ({
            url: `http://127.0.0.1:${silent.port}/${n}`,
            events: EVENTS,
          })),
        },
      ],
      // What waits for one of them would not arrive while this test runs.
      config: { webhooks: { allowPrivateAddresses: true, timeoutSeconds: 3600 } },
    });
    await using loud = await RawClient.connect(server, { path: LOUD_PATH });
    for (let n = 0; n < 10; n++) await loud.subscribe(`loud-${n}`);
    while (silent.pendingRequests < 64) await Bun.sleep(20);
    await using honest = await RawClient.connect(server);
    await honest.subscribe('quiet');
    expect((await mine.requests.next()).events).toMatchObject([{ channel: 'quiet' }]);
  }, 180_000);
});

describe('the cached event of a cache channel', () => {
  it('stays, however many events another app caches', async () => {
    await using server = await startFanfare({ moreApps: [{ id: 'loud', keys: [LOUD_KEY] }] });
    await trigger(server, { name: 'price', channel: 'cache-gold', data: '1' });
    const data = 'x'.repeat(10_000);
    for (let n = 0; n < 145; n++) {
      const channels = Array.from({ length: 100 }, (_, c) => `cache-${n}-${c}`);
      const { status } = await api(server, 'POST', '/apps/loud/events', {
        ...LOUD_KEY,
        body: JSON.stringify({ name: 'e', channels, data }),
      });
      expect(status).toBe(200);
    }
    await using client = await RawClient.connect(server);
    await client.subscribe('cache-gold');
    expect(await client.receive()).toMatchObject({ event: 'price', data: '1' });
  }, 180_000);
});

describe('the daily quota', () => {
  it('is not used up by messages that an anonymous client causes', async () => {
    using endpoint = startWebhookEndpoint();
    await using server = await startFanfare({
      app: {
        limits: { messagesPerDay: 50 },
        subscriptionCounts: true,
        webhooks: [{ url: endpoint.url, events: [...EVENTS, 'cache_miss', 'subscription_count'] }],
      },
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    await trigger(server, { name: 'e', channel: 'cache-x', data: 'x' });
    await using client = await RawClient.connect(server);
    for (let n = 0; n < 200; n++) {
      for (const channel of [`c-${n}`, 'cache-x', 'cache-missed']) {
        client.send({ event: 'pusher:subscribe', data: { channel } });
        client.send({ event: 'pusher:unsubscribe', data: { channel } });
      }
    }
    client.send({ event: 'pusher:ping', data: {} });
    while ((await client.receive()).event !== 'pusher:pong');
    for (let n = 1; n < 50; n++) await trigger(server, { name: 'e', channel: 'a', data: 'x' });
    const { status } = await api(server, 'POST', `/apps/${APP.id}/events`, {
      body: JSON.stringify({ name: 'e', channel: 'a', data: 'x' }),
    });
    expect(status).toBe(403);
  });
});

describe('a member who joins and leaves all the time', () => {
  it('leaves at most five times per second for others, with the right state at the end', async () => {
    await using server = await startFanfare({ channels: { framesPerSecond: 0 } });
    const channel = 'presence-room';
    const ann = JSON.stringify({ user_id: 'ann' });
    const bob = JSON.stringify({ user_id: 'bob' });
    await using watcher = await RawClient.connect(server);
    await watcher.subscribe(channel, channelAuth(watcher.socketId, channel, ann));
    await using restless = await RawClient.connect(server);
    const auth = channelAuth(restless.socketId, channel, bob);
    for (let n = 0; n < 500; n++) {
      restless.send({ event: 'pusher:subscribe', data: { channel, ...auth } });
      restless.send({ event: 'pusher:unsubscribe', data: { channel } });
    }
    const changes: string[] = [];
    for (let n = 0; n < 12; n++)
      changes.push((await watcher.receive()).event.split('_').at(-1) ?? '');
    // Joins are told at once. Beyond the limit, a departure is told a second later, unless the member is back.
    expect(changes).toEqual(Array(6).fill(['added', 'removed']).flat());
    await watcher.receiveNothing();
  });
});

describe('clients that read nothing', () => {
  it('take no more memory than the limit of all clients, and others receive everything', async () => {
    const limit = 50_000_000;
    await using server = await startFanfare({
      channels: { waitingBytes: limit, sendBufferBytes: 4_000_000 },
      moreApps: [{ id: 'loud', keys: [LOUD_KEY] }],
    });
    await using honest = await RawClient.connect(server);
    await honest.subscribe('mine');
    const deaf: RawClient[] = [];
    for (let n = 0; n < 100; n++) {
      const client = await RawClient.connect(server, { path: LOUD_PATH });
      await client.subscribe('flood');
      client.pauseReading();
      deaf.push(client);
    }
    const before = residentBytes(server);
    const body = JSON.stringify({ name: 'e', channel: 'flood', data: 'x'.repeat(10_000) });
    let most = 0;
    for (let n = 0; n < 600; n++) {
      await api(server, 'POST', '/apps/loud/events', { ...LOUD_KEY, body });
      if (n % 20 === 0) most = Math.max(most, residentBytes(server) - before);
    }
    // Without a common limit it would be more than 400 MB: buffers grow by doubling.
    expect(most).toBeLessThan(5 * limit);
    await server.logged(/Connection closed: it read too slowly/);
    await trigger(server, { name: 'e', channel: 'mine', data: 'x' });
    expect(await honest.receive()).toMatchObject({ event: 'e' });
    for (const client of deaf) await client[Symbol.asyncDispose]();
  }, 180_000);
});

describe('subscriptions', () => {
  it('are left for other apps when one app uses as many as it can', async () => {
    // Each thread compares its own apps, and two connections are too few to be alike on all threads.
    await using server = await startFanfare({
      threads: 1,
      channels: { maxSubscriptions: 200 },
      moreApps: [{ id: 'loud', keys: [LOUD_KEY] }],
    });
    await using loud = await RawClient.connect(server, { path: LOUD_PATH });
    for (let n = 0; n < 200; n++) await loud.subscribe(`c-${n}`);
    loud.send({ event: 'pusher:subscribe', data: { channel: 'one-more' } });
    expect(await loud.receive()).toMatchObject({ event: 'pusher:error' });
    await using honest = await RawClient.connect(server);
    await honest.subscribe('a');
    expect(await loud.closed).toMatchObject({ code: 4100 });
    await trigger(server, { name: 'e', channel: 'a', data: 'x' });
    expect(await honest.receive()).toMatchObject({ event: 'e' });
  });

  it('of one app close no more connections of another app than necessary', async () => {
    await using server = await startFanfare({
      threads: 1,
      channels: { maxSubscriptions: 1000 },
      moreApps: [{ id: 'loud', keys: [LOUD_KEY] }],
    });
    const honest: RawClient[] = [];
    for (let n = 0; n < 10; n++) {
      const client = await RawClient.connect(server);
      for (let channel = 0; channel < 100; channel++) await client.subscribe(`c-${n}-${channel}`);
      honest.push(client);
    }
    let ended = 0;
    for (const client of honest) void client.closed.then(() => ended++);
    await using loud = await RawClient.connect(server, { path: LOUD_PATH });
    for (let n = 0; n < 150; n++) {
      loud.send({ event: 'pusher:subscribe', data: { channel: `c-${n}` } });
    }
    for (let n = 0; n < 150; n++) await loud.receive();
    await Bun.sleep(100);
    expect(ended).toBe(2);
    for (const client of honest) await client[Symbol.asyncDispose]();
  });
});

describe('the log', () => {
  it('is not flooded by refusals of clients and strangers, and loses no lines of others', async () => {
    await using server = await startFanfare({ moreApps: [{ id: 'loud', keys: [LOUD_KEY] }] });
    await using honest = await RawClient.connect(server);
    const pinged = await pingDuring(server, honest, async () => {
      await using loud = await RawClient.connect(server, { path: LOUD_PATH });
      for (let n = 0; n < 1500; n++) {
        loud.send({ event: 'pusher:subscribe', data: { channel: `private-${n}`, auth: 'x:y' } });
        loud.send({ event: 'pusher:signin', data: { auth: 'x:y', user_data: '{}' } });
      }
      for (let n = 0; n < 300; n++) {
        await fetch(`http://127.0.0.1:${server.port}/apps/none/events?n=${n}`);
        await using client = await RawClient.open(server, { path: pathOf(7, `no-${n}`) });
        await client.closed;
      }
    });
    expectCalm(pinged);
    honest.send({ event: 'pusher:subscribe', data: { channel: 'private-mine', auth: 'x:y' } });
    await server.logged(/Subscription refused.*private-mine/);
    const lines = server.output.stderr.split('\n').filter((line) => line.includes('refused'));
    expect(lines.length).toBeLessThan(600);
  }, 180_000);
});
