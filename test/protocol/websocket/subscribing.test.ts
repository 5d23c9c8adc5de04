import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { channelAuth, trigger } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  allChannelsVacated,
  channelData,
  channels,
  confirmation,
  connect,
  error,
  fresh,
  join,
  leave,
  PROTOCOLS,
  subscribe,
  unsubscribe,
} from './conversation.ts';

/** Source: Channels protocol, §4, §5.3 and §5.4. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const notSubscribed = (channel: string) =>
  error(`No current subscription to channel ${channel}, or subscription in progress`);

describe.each(PROTOCOLS)('a client of protocol %i', (protocol) => {
  it.each([
    ['an empty auth', { auth: '' }],
    ['no auth', {}],
    ['null for auth', { auth: null }],
    ['null for both auth and channel_data', { auth: null, channel_data: null }],
    ['an auth that means nothing', { auth: 'whatever', channel_data: '' }],
  ])('subscribes to a public channel with %s', async (_, data) => {
    const channel = fresh();
    await using client = await connect(server, protocol);

    client.send({ event: 'pusher:subscribe', data: { channel, ...data } });

    expect(await client.receive()).toEqual(confirmation(channel));
    await client.receiveNothing();
  });

  it.each(['private-', 'private-encrypted-'])(
    'may send an empty channel_data, which is signed or not: %s',
    async (prefix) => {
      for (const isSigned of [true, false]) {
        const channel = fresh(prefix);
        await using client = await connect(server, protocol);

        const { auth } = client.app.auth(client, channel, isSigned ? '' : undefined);
        client.send({ event: 'pusher:subscribe', data: { channel, auth, channel_data: '' } });

        expect(await client.receive()).toEqual(confirmation(channel));
      }
    },
  );

  it('receives the events of its channels only, in the order in which they were published', async () => {
    const [one, two, other] = [fresh(), fresh('private-'), fresh()];
    await using client = await connect(server, protocol);
    await join(client, one);
    await join(client, two);

    for (let count = 0; count < 20; count++) {
      await trigger(server, { name: `e${count}`, channels: [two, other, one], data: `${count}` });
    }

    for (let count = 0; count < 20; count++) {
      const event = { event: `e${count}`, data: `${count}` };
      expect(await client.receive()).toEqual({ ...event, channel: two });
      expect(await client.receive()).toEqual({ ...event, channel: one });
    }
    await client.receiveNothing();
  });

  it('does not receive what was published before it subscribed', async () => {
    const channel = fresh();
    await using client = await connect(server, protocol);

    await trigger(server, { name: 'early', channel, data: '' });
    await join(client, channel);

    await client.receiveNothing();
  });

  it('does not receive an event that excludes its socket id, and the others do', async () => {
    const channel = fresh();
    await using client = await connect(server, protocol);
    await using other = await connect(server, protocol);
    await join(client, channel);
    await join(other, channel);

    await trigger(server, { name: 'e', channel, data: '', socket_id: client.socketId });

    expect(await other.receive()).toEqual({ event: 'e', channel, data: '' });
    await client.receiveNothing();
  });

  it.each(['', 'private-', 'private-encrypted-', 'presence-', 'cache-'])(
    'gets an error when it subscribes to a channel twice, and stays subscribed: %s',
    async (prefix) => {
      const channel = fresh(prefix);
      await using client = await connect(server, protocol);
      const data = prefix === 'presence-' ? channelData('1') : undefined;
      await join(client, channel, data);
      if (prefix === 'cache-') await client.receive();

      subscribe(client, channel, data);
      expect(await client.receive()).toEqual(error(`Existing subscription to channel ${channel}`));
      // Even without a valid signature.
      client.send({ event: 'pusher:subscribe', data: { channel, auth: 'x:y' } });
      expect(await client.receive()).toEqual(error(`Existing subscription to channel ${channel}`));
      await client.receiveNothing();

      await trigger(server, { name: 'once', channel, data: '' });
      expect(await client.receive()).toEqual({ event: 'once', channel, data: '' });
      await client.receiveNothing();
      unsubscribe(client, channel);
      unsubscribe(client, channel);
      expect(await client.receive()).toEqual(notSubscribed(channel));
    },
  );

  it('receives nothing about its unsubscription, nor of the channel from then on', async () => {
    const channel = fresh();
    await using client = await connect(server, protocol);
    await join(client, channel);

    unsubscribe(client, channel);
    await client.receiveNothing();
    await trigger(server, { name: 'late', channel, data: '' });

    await client.receiveNothing();
  });

  it('may subscribe again after it unsubscribed', async () => {
    const channel = fresh('private-');
    await using client = await connect(server, protocol);
    for (let count = 0; count < 3; count++) {
      await join(client, channel);
      unsubscribe(client, channel);
    }
    await join(client, channel);

    await trigger(server, { name: 'e', channel, data: '' });

    expect(await client.receive()).toEqual({ event: 'e', channel, data: '' });
    await client.receiveNothing();
  });

  it('may unsubscribe before it has received the confirmation', async () => {
    const channel = fresh();
    await using client = await connect(server, protocol);

    client.sendTogether([
      { event: 'pusher:subscribe', data: { channel } },
      { event: 'pusher:unsubscribe', data: { channel } },
    ]);

    expect(await client.receive()).toEqual(confirmation(channel));
    await client.receiveNothing();
    await trigger(server, { name: 'late', channel, data: '' });
    await client.receiveNothing();
  });

  it.each([
    ['was never in', 'never-in'],
    ['would not have been let into', 'private-never-in'],
    ['could not name', 'no such name! 😀'],
  ])('gets an error when it unsubscribes from a channel that it %s', async (_, channel) => {
    await using client = await connect(server, protocol);

    unsubscribe(client, channel);

    expect(await client.receive()).toEqual(notSubscribed(channel));
    await client.receiveNothing();
  });

  it('gets an error when it unsubscribes after a refusal', async () => {
    const channel = fresh('private-');
    await using client = await connect(server, protocol);
    client.send({ event: 'pusher:subscribe', data: { channel } });
    await client.receive();
    await client.receive();

    unsubscribe(client, channel);

    expect(await client.receive()).toEqual(notSubscribed(channel));
  });

  it('leaves the subscriptions of others alone when it unsubscribes', async () => {
    const channel = fresh();
    await using client = await connect(server, protocol);
    await using other = await connect(server, protocol);
    await join(client, channel);
    await join(other, channel);

    unsubscribe(client, channel);
    await client.receiveNothing();
    await trigger(server, { name: 'e', channel, data: '' });

    expect(await other.receive()).toEqual({ event: 'e', channel, data: '' });
    await client.receiveNothing();
  });

  it('gets two events for a refusal, and may then subscribe correctly', async () => {
    const channel = fresh('private-');
    await using client = await connect(server, protocol);
    const { auth } = channelAuth(client.socketId, 'private-another');

    client.send({ event: 'pusher:subscribe', data: { channel, auth } });

    const message = `Invalid signature: Expected HMAC SHA256 hex digest of ${client.socketId}:${channel}, but got ${auth.split(':')[1]}`;
    expect(await client.receive()).toEqual({
      event: 'pusher:error',
      data: { code: null, message },
    });
    const { data, ...rest } = await client.receive();
    expect(rest).toEqual({ event: 'pusher:subscription_error', channel });
    expect(data).toBe(JSON.stringify({ type: 'AuthError', error: message, status: 401 }));
    await client.receiveNothing();
    await trigger(server, { name: 'secret', channel, data: '' });
    await client.receiveNothing();
    await join(client, channel);
  });

  it.each([
    '{"event":"pusher:subscribe"}',
    '{"event":"pusher:subscribe","data":null}',
    '{"event":"pusher:subscribe","data":{}}',
    '{"event":"pusher:subscribe","data":{"channel":7}}',
    '{"event":"pusher:subscribe","data":{"channel":["x"]}}',
    '{"event":"pusher:subscribe","data":"x"}',
    '{"event":"pusher:subscribe","data":["x"]}',
    '{"event":"pusher:subscribe","channel":"x"}',
    '{"event":"pusher:subscribe","data":{"channel":"private-x","auth":7}}',
    '{"event":"pusher:subscribe","data":{"channel":"presence-x","channel_data":{}}}',
    '{"event":"pusher:unsubscribe"}',
    '{"event":"pusher:unsubscribe","data":{}}',
    '{"event":"pusher:unsubscribe","data":{"channel":null}}',
  ])('gets an error that names what its message lacks, and stays connected: %s', async (text) => {
    await using client = await connect(server, protocol);

    client.send(text);

    expect(await client.receive()).toEqual(
      error(expect.stringMatching(/^Invalid pusher:(un)?subscribe message: /)),
    );
    await client.receiveNothing();
  });

  it.each([
    'pusher:foo',
    'pusher:',
    'pusher:connection_established',
    'pusher:error',
    'pusher_internal:member_added',
    'pusher_internal:subscription_succeeded',
    'foo',
    'clientele',
    'Client-x',
    'pusher:Subscribe',
    'pusher:subscribe ',
    '',
    'ünknöwn "event" \\ 😀',
  ])('gets an error for %s, and stays connected', async (event) => {
    await using client = await connect(server, protocol);

    client.send({ event, data: {}, channel: 'x' });

    expect(await client.receive()).toEqual(error(`Unsupported event received on socket: ${event}`));
    await client.receiveNothing();
  });

  it('leaves all its channels when it closes', async () => {
    await using client = await connect(server, protocol);
    const names = [fresh(), fresh('private-'), fresh('private-encrypted-')];
    for (const channel of names) await join(client, channel);
    names.push(fresh('presence-'));
    await join(client, names.at(-1) ?? '', channelData('1'));
    expect(Object.keys(await channels(server))).toEqual(expect.arrayContaining(names));

    await leave(client);

    await allChannelsVacated(server);
  });
});
