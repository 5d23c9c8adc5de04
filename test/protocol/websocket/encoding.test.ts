import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { ReceivedEvent } from '../../../testing/clients/raw-client.ts';
import { api, channelAuth, trigger } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  cacheMiss,
  channelData,
  confirmation,
  connect,
  error,
  fresh,
  member,
  PROTOCOLS,
  subscribe,
} from './conversation.ts';

/** Source: Channels protocol, §2. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({ app: { clientEvents: true } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Strings that would change if a server parsed, trimmed or serialised them. */
const STRINGS = [
  '',
  ' ',
  'text',
  '"',
  '"text"',
  '{}',
  '{"a" : 1.0, "b":1e2 , "a":2}',
  '[12345678901234567890, -0, 1E400]',
  'Ünïcödé, 日本語, \u05e9\u05dc\u05d5\u05dd',
  '😀 👩‍👩‍👧‍👦',
  'a\u0000b\u0001\b\f\n\r\t\u001f\u007f',
  '\u2028\u2029\ufeff',
  String.raw`\ \\ \" \n \u0041 \ud83d \x`,
  '\ud800',
  '\udc00\ud800 and \ud83d',
  '</script><!-- & -->',
  '%41 + %zz',
  'e\u0301 \u00e9',
];

/** JSON that JSON.parse and JSON.stringify would change. */
const JSON_TEXTS = [
  '{"n":12345678901234567890,"f":1.0,"e":1E400,"z":-0,"s":"\\u00e9\\/","d":1,"d":2}',
  '{ "a" :\t[ 1 ,\t2 ] , "b" : { } }',
  '[]',
  '0.1000',
  '-1e-7',
  'true',
  'false',
  '9007199254740993',
  '{"__proto__":{"x":1},"":"\\ud800"}',
  '{"data":"inner","event":"x"}',
];

describe.each(PROTOCOLS)('a client of protocol %i', (protocol) => {
  it.each(STRINGS.map((text) => [JSON.stringify(text), text] as const))(
    'gets the published string unchanged: %s',
    async (_, data) => {
      const channel = fresh();
      await using client = await member(server, channel, undefined, protocol);

      await trigger(server, { name: 'news', channel, data });

      expect(await client.receive()).toEqual({ event: 'news', channel, data });
    },
  );

  it('gets the same string whether it was published with escapes or without', async () => {
    const channel = fresh();
    await using client = await member(server, channel, undefined, protocol);
    for (const literal of ['"\\u00e9\\/\\ud83d\\ude00\\u000a"', '"é/😀\\n"']) {
      const body = `{"name":"news","channel":"${channel}","data":${literal}}`;

      expect((await api(server, 'POST', '/apps/3/events', { body })).status).toBe(200);

      expect(await client.receive()).toEqual({ event: 'news', channel, data: 'é/😀\n' });
    }
  });

  it.each(JSON_TEXTS)('gets the text of JSON that was published, unchanged: %s', async (text) => {
    const channel = fresh();
    await using client = await member(server, channel, undefined, protocol);
    const body = `{"name":"news", "data": ${text} ,"channel":"${channel}"}`;

    expect((await api(server, 'POST', '/apps/3/events', { body })).status).toBe(200);

    expect(await client.receive()).toEqual({ event: 'news', channel, data: text });
  });

  it('gets the name of an event unchanged', async () => {
    const channel = fresh();
    await using client = await member(server, channel, undefined, protocol);
    for (const name of ['x', 'a b', '"quoted" \\ \n', '日本語 😀', 'pusher', 'client-like']) {
      await trigger(server, { name, channel, data: 'd' });
      expect(await client.receive()).toEqual({ event: name, channel, data: 'd' });
    }
  });

  it('gets data of the largest size in one message', async () => {
    const channel = fresh();
    await using client = await member(server, channel, undefined, protocol);
    const data = 'é'.repeat(5120);

    await trigger(server, { name: 'large', channel, data });

    expect(await client.receive()).toEqual({ event: 'large', channel, data });
  });

  it('gets data as a string in every message but errors, and only documented keys', async () => {
    const channel = fresh('presence-cache-');
    await using first = await member(server, channel, channelData('1', { a: 1 }), protocol);
    expect(await first.receive()).toEqual(cacheMiss(channel));
    await using second = await connect(server, protocol);
    subscribe(second, channel, channelData('2'));
    second.send({ event: 'client-hello', channel, data: { a: 1 } });
    await second.receive();
    expect(await second.receive()).toEqual(cacheMiss(channel));
    second.send({ event: 'pusher:unsubscribe', data: { channel } });
    second.send({ event: 'pusher:unsubscribe', data: { channel } });
    second.send({ event: 'pusher:subscribe', data: { channel: fresh('private-') } });
    second.send({ event: 'pusher:ping', data: {} });
    const received: ReceivedEvent[] = [];
    for (let count = 0; count < 4; count++) received.push(await second.receive());
    await trigger(server, { name: 'news', channel, data: 'd' });
    for (let count = 0; count < 4; count++) received.push(await first.receive());

    expect(received.map(({ event }) => event)).toEqual([
      'pusher:error',
      'pusher:error',
      'pusher:subscription_error',
      'pusher:pong',
      'pusher_internal:member_added',
      'client-hello',
      'pusher_internal:member_removed',
      'news',
    ]);
    for (const { event, channel: _, data, user_id, ...others } of received) {
      expect([event, others]).toEqual([event, {}]);
      expect([event, typeof data]).toEqual([event, event === 'pusher:error' ? 'object' : 'string']);
      expect([event, user_id]).toEqual([event, event === 'client-hello' ? '2' : undefined]);
    }
  });

  it('may subscribe and unsubscribe with JSON in strings', async () => {
    const channel = fresh('presence-');
    await using client = await connect(server, protocol);

    client.send({
      event: 'pusher:subscribe',
      data: JSON.stringify({
        channel,
        ...channelAuth(client.socketId, channel, channelData('"1"', { name: 'é' })),
      }),
    });
    expect(await client.receive()).toMatchObject({
      channel,
      data: expect.stringContaining('hash'),
    });
    client.send({ event: 'pusher:unsubscribe', data: JSON.stringify({ channel }) });
    client.send({ event: 'pusher:unsubscribe', data: JSON.stringify({ channel }) });

    expect(await client.receive()).toEqual(
      error(`No current subscription to channel ${channel}, or subscription in progress`),
    );
  });

  it('may use any white space, escapes and order of keys', async () => {
    const channel = fresh();
    await using client = await connect(server, protocol);

    client.send(
      ` \r\n{ "data" :\t{ "auth" : null , "chan\\u006eel" : "${channel}" } , "x" : [ 1 ] ,\n"event" : "pusher\\u003asubscribe" } `,
    );

    expect(await client.receive()).toEqual(confirmation(channel));
  });

  it('gets the string of another client unchanged', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);
    await using listener = await member(server, channel, undefined, protocol);
    for (const data of STRINGS.slice(0, 9)) {
      speaker.send({ event: 'client-x', channel, data });
      expect(await listener.receive()).toEqual({ event: 'client-x', channel, data });
    }
  });

  it('gets unusual strings of another client unchanged', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);
    await using listener = await member(server, channel, undefined, protocol);
    for (const data of STRINGS.slice(9)) {
      speaker.send({ event: 'client-x', channel, data });
      expect(await listener.receive()).toEqual({ event: 'client-x', channel, data });
    }
  });

  it('gets the JSON of another client as unchanged text', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);
    await using listener = await member(server, channel, undefined, protocol);
    for (const text of JSON_TEXTS) {
      speaker.send(`{"event":"client-x", "data" : ${text}\n,"channel":"${channel}"}`);
      expect(await listener.receive()).toEqual({ event: 'client-x', channel, data: text });
    }
  });
});
