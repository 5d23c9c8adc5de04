import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { attack, expectCalm, pingDuring } from './neighbour.ts';

/** Anonymous clients of one app beside a client of another. */

const LOUD = { id: 'loud', keys: [{ key: 'loud-key', secret: 'loud-secret' }] };
const PATH = pathOf(7, 'loud-key');
const SECONDS = 0.6;

describe('a client is served as usual while a client of another app', () => {
  let server: Fanfare;
  let honest: RawClient;
  beforeAll(async () => {
    server = await startFanfare({
      moreApps: [{ ...LOUD, subscriptionCounts: true, clientEvents: true }],
    });
    honest = await RawClient.connect(server);
    await honest.subscribe('mine');
  });
  afterAll(async () => {
    await honest[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const strike = (name: string, options: object = {}) =>
    attack<Record<string, unknown>>(name, {
      port: server.port,
      path: PATH,
      seconds: SECONDS,
      ...options,
    });
  const beside = (name: string, options: object = {}) =>
    pingDuring(server, honest, () => strike(name, options));

  it('sends empty frames as fast as it can: it is closed with 1008', async () => {
    const pinged = await beside('frames');
    expectCalm(pinged);
    expect(pinged.result).toMatchObject({ codes: { '1008': expect.any(Number) } });
    await server.logged(/it went on sending too many frames/);
  });

  it('sends pings of the protocol, or of WebSocket', async () => {
    expectCalm(await beside('frames', { text: '{"event":"pusher:ping","data":{}}' }));
    const pinged = await beside('frames', { opcode: 9, text: 'x' });
    expectCalm(pinged);
    expect(pinged.result).toMatchObject({ codes: { '1008': expect.any(Number) } });
  });

  it('sends large messages that are not JSON', async () => {
    expectCalm(await beside('frames', { text: 'x'.repeat(60_000) }));
  });

  it('subscribes and unsubscribes as fast as it can', async () => {
    expectCalm(await beside('toggles'));
    expectCalm(await beside('toggles', { channel: 'same' }));
  });

  it('subscribes to as many channels as possible, on one connection after the other', async () => {
    expectCalm(await beside('subscriptions'));
  });

  it('sends all of its frames with the handshake, on one connection after the other', async () => {
    const both = () => Promise.all([1, 2].map(() => strike('bursts')));
    expectCalm(await pingDuring(server, honest, both));
  });

  it('has done all of that: events still arrive', async () => {
    await trigger(server, { name: 'e', channel: 'mine', data: 'still here' });
    expect(await honest.receive()).toMatchObject({ event: 'e', data: 'still here' });
  });
});

describe('a page of a real client', () => {
  it('can subscribe to 1,000 channels at once, and to all of them again when it reconnects', async () => {
    await using server = await startFanfare();
    for (let visit = 0; visit < 2; visit++) {
      await using client = await RawClient.connect(server);
      for (let n = 0; n < 1000; n++) {
        client.send({ event: 'pusher:subscribe', data: { channel: `c-${n}` } });
      }
      for (let n = 0; n < 1000; n++) {
        expect(await client.receive()).toMatchObject({
          event: 'pusher_internal:subscription_succeeded',
          channel: `c-${n}`,
        });
      }
      client.send({ event: 'pusher:subscribe', data: { channel: 'one-too-many' } });
      // Refused because of its rate or, if that has room again by now, because of its number of channels.
      expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
    }
  });
});

describe('a client that reconnects repeatedly', () => {
  it('keeps the count of its frames, and is refused with 429 until time has passed', async () => {
    // Each thread or server enforces its share.
    await using server = await startFanfare({
      threads: 1,
      onlyOne: 'address-limits',
      channels: { addressLimits: { framesPerSecond: 20 } },
    });
    const visit = async () => {
      await using client = await RawClient.connect(server);
      for (let n = 0; n < 1000; n++) client.send({ event: 'pusher:ping', data: {} });
      for (let n = 0; n < 1000; n++) {
        expect(await client.receive()).toMatchObject({ event: 'pusher:pong' });
      }
    };
    await visit();
    // On a slow machine the server adds up the frames of the address during this visit, and ends it.
    await visit().catch(({ message }) => expect(message).toContain('Too many messages'));
    await using refused = await RawClient.open(server);
    expect(refused.responseHead).toStartWith('HTTP/1.1 429 ');
    await server.logged(/channels\.addressLimits\.framesPerSecond/);
  });
});

describe('a client that sends too much', () => {
  it('gets 4301 once, and is answered again when it has slowed down', async () => {
    await using server = await startFanfare({ channels: { framesPerSecond: 10 } });
    await using client = await RawClient.connect(server);
    // The burst is twice the rate of 10 per second plus the limit of channels; each second adds 10.
    for (let n = 0; n < 2060; n++) client.send({ event: 'pusher:ping', data: {} });
    let received = await client.receive();
    let pongs = 0;
    for (; received.event === 'pusher:pong'; received = await client.receive()) pongs++;
    expect(pongs).toBeGreaterThanOrEqual(2000);
    expect(received).toEqual({
      event: 'pusher:error',
      data: {
        code: 4301,
        message: 'Message rejected due to rate limit: at most 10 per second',
      },
    });
    const again = setInterval(() => client.send({ event: 'pusher:ping', data: {} }), 200);
    expect(await client.receive()).toMatchObject({ event: 'pusher:pong' });
    clearInterval(again);
  });

  it('subscribes too often and is refused with the name of the channel, until time has passed', async () => {
    await using server = await startFanfare({
      app: { limits: { subscriptionsPerSecond: 2, channelsPerConnection: 5 } },
    });
    await using client = await RawClient.connect(server);
    const toggle = () => {
      client.send({ event: 'pusher:subscribe', data: { channel: 'a' } });
      client.send({ event: 'pusher:unsubscribe', data: { channel: 'a' } });
    };
    // The burst is 20; each second adds 2.
    for (let n = 0; n < 60; n++) toggle();
    let received = await client.receive();
    let subscribed = 0;
    for (
      ;
      received.event === 'pusher_internal:subscription_succeeded';
      received = await client.receive()
    ) {
      subscribed++;
    }
    expect(subscribed).toBeGreaterThanOrEqual(20);
    const message = 'Subscription rejected due to rate limit: at most 2 per second';
    expect(received).toEqual({ event: 'pusher:error', data: { code: 4301, message } });
    expect(await client.receive()).toEqual({
      event: 'pusher:subscription_error',
      channel: 'a',
      data: JSON.stringify({ type: 'LimitReached', error: message, status: 4301 }),
    });
    // Unsubscribing is never refused; this client is just not subscribed.
    expect(await client.receive()).toMatchObject({ event: 'pusher:error', data: { code: null } });
    await server.logged(new RegExp(message));
  });
});
