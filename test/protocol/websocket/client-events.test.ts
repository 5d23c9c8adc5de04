import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { RawClient, ReceivedEvent } from '../../../testing/clients/raw-client.ts';
import { type Fanfare, SERVERS, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import {
  cacheMiss,
  channelData,
  connect,
  error,
  fresh,
  join,
  member,
  PROTOCOLS,
  unsubscribe,
} from './conversation.ts';

/** Source: Channels protocol, §7. */

let server: Fanfare;
let silent: TestApp;
beforeAll(async () => {
  server = await startFanfare({ app: { clientEvents: true } });
  silent = await newApp(server);
});
afterAll(() => server[Symbol.asyncDispose]());

const OFF =
  'To send client events, you must enable this feature in the Settings page of your dashboard.';
const MALFORMED = 'Invalid client event (must contain channel and data)';
const WRONG_CHANNEL = 'Client event rejected - only supported on private and presence channels';
const notSubscribed = (channel: string) =>
  `Cannot broadcast client event (connection not subscribed to channel ${channel})`;
const PONG: ReceivedEvent = { event: 'pusher:pong', data: '{}' };
const RATE = error('Client event rejected due to rate limit', 4301);

/** Many events in one write, so that the server reads them at once. */
function events(channel: string, count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    event: 'client-e',
    channel,
    data: `${index}`,
  }));
}

/** How many of the events that a client has sent were refused because of their rate. */
async function refusals(speaker: RawClient): Promise<number> {
  speaker.send({ event: 'pusher:ping', data: {} });
  for (let refused = 0; ; refused++) {
    const answer = await speaker.receive();
    if (answer.event === PONG.event) return refused;
    expect(answer).toEqual(RATE);
  }
}

describe.each(PROTOCOLS)('a client of protocol %i', (protocol) => {
  it('may not send events by default', async () => {
    const channel = fresh('private-');
    await using speaker = await member(silent, channel, undefined, protocol);
    await using listener = await member(silent, channel, undefined, protocol);

    speaker.send({ event: 'client-e', channel, data: {} });
    expect(await speaker.receive()).toEqual(error(OFF));
    speaker.send({ event: 'client-e', channel: 'private-elsewhere', data: {} });
    expect(await speaker.receive()).toEqual(error(OFF));

    await speaker.receiveNothing();
    await listener.receiveNothing();
  });

  it.each(['private-', 'private-encrypted-', 'private-cache-'])(
    'reaches the others in a channel, and not itself: %s',
    async (prefix) => {
      const channel = fresh(prefix);
      await using speaker = await connect(server, protocol);
      await using listener = await connect(server, protocol);
      await using another = await connect(server, protocol);
      await using stranger = await connect(server, protocol);
      for (const client of [speaker, listener, another]) {
        await join(client, channel);
        if (prefix === 'private-cache-') expect(await client.receive()).toEqual(cacheMiss(channel));
      }
      await join(stranger, fresh(prefix));
      if (prefix === 'private-cache-') await stranger.receive();

      speaker.send({ event: 'client-typing', channel, data: { on: true } });

      const received = { event: 'client-typing', channel, data: '{"on":true}' };
      expect(await listener.receive()).toEqual(received);
      expect(await another.receive()).toEqual(received);
      await speaker.receiveNothing();
      await stranger.receiveNothing();
    },
  );

  it.each(['presence-', 'presence-cache-'])(
    'sends events with its user_id in a presence channel: %s',
    async (prefix) => {
      const channel = fresh(prefix);
      const cached = prefix === 'presence-cache-';
      await using listener = await member(server, channel, channelData('1'), protocol);
      if (cached) await listener.receive();
      await using speaker = await member(server, channel, channelData(42, { a: 1 }), protocol);
      if (cached) await speaker.receive();
      await using same = await member(server, channel, channelData(42), protocol);
      if (cached) await same.receive();
      await listener.receive();

      speaker.send({ event: 'client-e', channel, data: 'text', user_id: 'forged' });

      const received = { event: 'client-e', channel, data: 'text', user_id: '42' };
      expect(await listener.receive()).toEqual(received);
      // Another connection of the same user is another client.
      expect(await same.receive()).toEqual(received);
      await speaker.receiveNothing();
    },
  );

  it('sends events without a user_id in other channels, even if one was signed', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, channelData('1'), protocol);
    await using listener = await member(server, channel, undefined, protocol);

    speaker.send({ event: 'client-e', channel, data: '', user_id: 'forged', extra: 1 });

    expect(await listener.receive()).toEqual({ event: 'client-e', channel, data: '' });
  });

  it('may send events of any name that begins with client-', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);
    await using listener = await member(server, channel, undefined, protocol);
    for (const event of [
      'client-',
      'client-"é😀" \\ \n',
      'client-pusher:x',
      'client-'.padEnd(200, 'x'),
    ]) {
      speaker.send({ event, channel, data: null });
      expect(await listener.receive()).toEqual({ event, channel, data: 'null' });
    }
    await speaker.receiveNothing();
  });

  it('may not send an event with a name of 201 characters', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);

    speaker.send({ event: 'client-'.padEnd(201, 'x'), channel, data: '' });

    expect(await speaker.receive()).toEqual(
      error(expect.stringMatching(/^Invalid client event: .*200/)),
    );
    await speaker.receiveNothing();
  });

  it.each(['', 'cache-', 'privateer-', 'presence_'])(
    'may not send events to a channel that needs no authorisation: %s',
    async (prefix) => {
      const channel = fresh(prefix);
      await using speaker = await member(server, channel, undefined, protocol);
      if (prefix === 'cache-') await speaker.receive();
      await using listener = await member(server, channel, undefined, protocol);
      if (prefix === 'cache-') await listener.receive();

      speaker.send({ event: 'client-e', channel, data: {} });

      expect(await speaker.receive()).toEqual(error(WRONG_CHANNEL));
      await speaker.receiveNothing();
      await listener.receiveNothing();
    },
  );

  it('may not send events to a channel that it is not in or has left', async () => {
    const channel = fresh('private-');
    await using listener = await member(server, channel, undefined, protocol);
    await using speaker = await connect(server, protocol);

    speaker.send({ event: 'client-e', channel, data: {} });
    expect(await speaker.receive()).toEqual(error(notSubscribed(channel)));
    await join(speaker, channel);
    unsubscribe(speaker, channel);
    speaker.send({ event: 'client-e', channel, data: {} });
    expect(await speaker.receive()).toEqual(error(notSubscribed(channel)));
    speaker.send({ event: 'client-e', channel: 'no such name!', data: {} });
    expect(await speaker.receive()).toEqual(error(notSubscribed('no such name!')));

    await speaker.receiveNothing();
    await listener.receiveNothing();
  });

  it('may not send events to a channel that it was refused', async () => {
    const channel = fresh('private-');
    await using listener = await member(server, channel, undefined, protocol);
    await using speaker = await connect(server, protocol);
    speaker.send({ event: 'pusher:subscribe', data: { channel, auth: 'x:y' } });
    await speaker.receive();
    await speaker.receive();

    speaker.send({ event: 'client-e', channel, data: {} });

    expect(await speaker.receive()).toEqual(error(notSubscribed(channel)));
    await listener.receiveNothing();
  });

  it.each([
    '{"event":"client-e"}',
    '{"event":"client-e","data":{}}',
    '{"event":"client-e","channel":"private-x"}',
    '{"event":"client-e","channel":null,"data":{}}',
    '{"event":"client-e","channel":7,"data":{}}',
    '{"event":"client-e","data":{"channel":"private-x","data":{}}}',
  ])('gets an error that names what its event lacks: %s', async (text) => {
    await using client = await connect(server, protocol);

    client.send(text);

    expect(await client.receive()).toEqual(error(MALFORMED));
    await client.receiveNothing();
  });

  it('may send 10 events at once; the 11th is answered with 4301 and not delivered', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);
    await using listener = await member(server, channel, undefined, protocol);

    speaker.sendTogether(events(channel, 13));

    const refused = await refusals(speaker);
    for (let index = 0; index < 10; index++) {
      expect(await listener.receive()).toEqual({ event: 'client-e', channel, data: `${index}` });
    }
    if (SERVERS === undefined) expect(refused).toBe(3);
    // Over Redis each event takes some time, in which more are allowed.
    for (let more = refused; more < 3; more++) await listener.receive();
    expect(refused).toBeGreaterThan(0);
    await listener.receiveNothing();
    // The limit counts one connection in all its channels, and no other connection.
    listener.send({ event: 'client-e', channel, data: 'mine' });
    expect(await speaker.receive()).toEqual({ event: 'client-e', channel, data: 'mine' });
  });

  it('may send events again after some time', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);
    await using listener = await member(server, channel, undefined, protocol);
    speaker.sendTogether(events(channel, 40));
    const refused = await refusals(speaker);
    expect(refused).toBeGreaterThan(0);
    for (let index = refused; index < 40; index++) await listener.receive();

    // The answer to a ping comes after the answer to the event, if that is refused.
    let tries = 0;
    let answer: ReceivedEvent;
    do {
      speaker.send({ event: 'client-again', channel, data: `${tries++}` });
      speaker.send({ event: 'pusher:ping', data: {} });
      answer = await speaker.receive();
      if (answer.event === 'pusher:error') {
        expect(answer).toEqual(RATE);
        expect(await speaker.receive()).toEqual(PONG);
        // Slowly enough for the limit of frames.
        await Bun.sleep(10);
      }
    } while (answer.event === 'pusher:error');

    expect(answer).toEqual(PONG);
    expect(await listener.receive()).toEqual({
      event: 'client-again',
      channel,
      data: `${tries - 1}`,
    });
    await listener.receiveNothing();
  });

  it('may send data as large as the limit of events, and no larger', async () => {
    const channel = fresh('private-');
    await using speaker = await member(server, channel, undefined, protocol);
    await using listener = await member(server, channel, undefined, protocol);
    // A string counts by its characters, other data by its JSON text: {"n":""} has 8 bytes.
    const largest = ['é'.repeat(5120), { n: 'x'.repeat(10_232) }];
    const larger = ['x'.repeat(10_241), { n: 'é'.repeat(5117) }];

    for (const data of larger) {
      speaker.send({ event: 'client-e', channel, data });
      expect(await speaker.receive()).toEqual(
        error(expect.stringMatching(/^Invalid client event: .*10240/)),
      );
    }
    await listener.receiveNothing();
    for (const data of largest) {
      speaker.send({ event: 'client-e', channel, data });
      expect(await listener.receive()).toEqual({
        event: 'client-e',
        channel,
        data: typeof data === 'string' ? data : JSON.stringify(data),
      });
    }
  });
});

describe('an app', () => {
  it('may have its own limit of client events, or none', async () => {
    for (const [perSecond, received] of [
      [3, 3],
      [0, 200],
    ] as const) {
      const fast = await newApp(server, {
        clientEvents: true,
        limits: { clientEventsPerSecond: perSecond },
      });
      const channel = fresh('private-');
      await using speaker = await member(fast, channel);
      await using listener = await member(fast, channel);

      speaker.sendTogether(events(channel, 200));

      for (let index = 0; index < received; index++) {
        expect(await listener.receive()).toMatchObject({ data: `${index}` });
      }
      if (perSecond > 0) expect(await speaker.receive()).toEqual(RATE);
    }
  });
});
