import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  clientFrame,
  RawClient,
  type ReceivedEvent,
  WS_PING,
} from '../../../testing/clients/raw-client.ts';
import { trigger } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  type Client,
  channelData,
  confirmation,
  connect,
  fresh,
  hearsEnd,
  join,
  LONG_MS,
  member,
  PROTOCOLS,
} from './conversation.ts';

/** Source: Channels protocol, §3. */

const PING = { event: 'pusher:ping', data: '{}' };
const PONG = { event: 'pusher:pong', data: '{}' };

function isQuestion({ event }: ReceivedEvent): boolean {
  return event === WS_PING || event === PING.event;
}

/** Answers a ping of the server in its own kind. */
function answer(client: Client, event: string): void {
  if (event === WS_PING) client.writeBytes(clientFrame(10, ''));
  else client.send('{"event":"pusher:pong","data":{}}');
}

describe('a client', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  describe.each(PROTOCOLS)('of protocol %i', (protocol) => {
    it.each([
      ['an object', '{"event":"pusher:ping","data":{}}'],
      ['a string', '{"event":"pusher:ping","data":"{}"}'],
      ['null', '{"event":"pusher:ping","data":null}'],
      ['nothing', '{"event":"pusher:ping"}'],
      ['anything', '{"event":"pusher:ping","data":[1,"x"],"channel":7}'],
    ])('may ping with %s as data, before and after it subscribes', async (_, ping) => {
      await using client = await connect(server, protocol);

      client.send(ping);
      expect(await client.receive()).toEqual(PONG);
      await join(client, fresh());
      client.send(ping);
      client.send(ping);

      expect(await client.receive()).toEqual(PONG);
      expect(await client.receive()).toEqual(PONG);
    });

    it.each(['{"event":"pusher:pong","data":{}}', '{"event":"pusher:pong","data":null}'])(
      'gets no answer to a pong: %s',
      async (pong) => {
        await using client = await connect(server, protocol);

        client.send(pong);

        await client.receiveNothing();
      },
    );
  });
});

describe.concurrent('a server that pings after one second, and closes after one more', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({
      channels: {
        activityTimeoutSeconds: 1,
        pongTimeoutSeconds: 1,
        sendBufferBytes: 100_000_000,
        requestBytes: 10_000_000,
      },
      app: { clientEvents: true, limits: { eventDataBytes: 10_000_000 } },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** What the server asks a silent client, in this order. */
  const QUESTIONS = [WS_PING, PING.event];

  async function isAskedAndClosed(client: RawClient, questions = QUESTIONS): Promise<void> {
    for (const question of questions) expect((await client.receive()).event).toBe(question);
    await hearsEnd(client, 4201, 'Pong reply not received');
  }

  it(
    'pings a silent client of any protocol, then closes it with 4201',
    async () => {
      const silent = await Promise.all(PROTOCOLS.map((protocol) => connect(server, protocol)));

      await Promise.all(silent.map((client) => isAskedAndClosed(client)));
    },
    LONG_MS,
  );

  it(
    'pings a silent client that uses HTTP requests by an event, then closes it with 4201',
    async () => {
      await using client = await RawClient.connect(server, { transport: 'xhr_streaming' });

      await isAskedAndClosed(client, [PING.event]);
    },
    LONG_MS,
  );

  it(
    'keeps a client that answers only pings of WebSocket, or only pusher:ping, quiet or busy',
    async () => {
      const news = fresh();
      const end = fresh();
      const lively = ['quiet', 'busy'].flatMap((name) =>
        QUESTIONS.map(async (question) => {
          const client = await member(server, end);
          if (name === 'busy') await join(client, news);
          return { client, question };
        }),
      );
      const clients = await Promise.all(lively);
      /** Answers one kind of question until the end. Returns what it was asked. */
      const asked = clients.map(async ({ client, question }) => {
        const questions = new Set<string>();
        for (let received = await client.receive(); received.channel !== end; ) {
          if (isQuestion(received)) questions.add(received.event);
          if (received.event === question) answer(client, question);
          received = await client.receive();
        }
        return [...questions];
      });
      let isOver = false;
      const busy = (async () => {
        while (!isOver) await trigger(server, { name: 'news', channel: news, data: '1' });
      })();

      // It connects last, so any other client that counts as silent is closed by then.
      await using silent = await connect(server);
      await isAskedAndClosed(silent);

      isOver = true;
      await busy;
      await trigger(server, { name: 'end', channel: end, data: '1' });
      expect(await Promise.all(asked)).toEqual(
        clients.map(({ question }) => QUESTIONS.slice(0, QUESTIONS.indexOf(question) + 1)),
      );
      for (const { client } of clients) await client[Symbol.asyncDispose]();
    },
    LONG_MS,
  );

  it(
    'accepts anything that a client sends as a sign of life',
    async () => {
      const channel = fresh('private-');
      const signs: Record<string, (client: Client) => void> = {
        'a pong': (client) => client.send('{"event":"pusher:pong","data":{}}'),
        'a pong with null': (client) => client.send('{"event":"pusher:pong","data":null}'),
        'a ping': (client) => client.send('{"event":"pusher:ping"}'),
        'a WebSocket ping': (client) => client.writeBytes(clientFrame(9, '')),
        'a WebSocket pong': (client) => client.writeBytes(clientFrame(10, 'x')),
        'a subscription': (client) =>
          client.send({ event: 'pusher:subscribe', data: { channel: fresh() } }),
        'an event': (client) => client.send({ event: 'client-x', channel, data: '' }),
        'what is no message': (client) => client.send('hello'),
      };
      const lively = await Promise.all(
        Object.entries(signs).map(async ([name, sign], index) => {
          const client = await connect(server, PROTOCOLS[index % PROTOCOLS.length]);
          return { name, client, sign };
        }),
      );
      await using silent = await connect(server);
      // Each answers every ping in its way until it gets the answer to its last message.
      const receivedAll = Promise.all(
        lively.map(async ({ name, client, sign }) => {
          const answer = `Cannot broadcast client event (connection not subscribed to channel ${name})`;
          let received = await client.receive();
          expect(isQuestion(received)).toBeTrue();
          for (; Object(received.data).message !== answer; received = await client.receive()) {
            if (isQuestion(received)) sign(client);
          }
        }),
      );

      // It connected last, so any other client that counts as silent is closed by then.
      await isAskedAndClosed(silent);

      for (const { name, client } of lively) {
        client.send({ event: 'client-unknown-channel', channel: name, data: '' });
      }
      await receivedAll;
      for (const { client } of lively) await client[Symbol.asyncDispose]();
    },
    LONG_MS,
  );

  it(
    'pings again after each silence',
    async () => {
      await using client = await connect(server);
      for (let count = 0; count < 3; count++) {
        const { event } = await client.receive();
        expect(event).toBe(QUESTIONS[0] ?? '');
        answer(client, event);
      }
    },
    LONG_MS,
  );

  it(
    'ends the connection of a vanished client, even with much unsent data',
    async () => {
      const presence = fresh('presence-');
      const loud = fresh();
      await using watcher = await member(server, presence, channelData('watcher'));
      await using client = await member(server, presence, channelData('gone'));
      expect(await watcher.receive()).toMatchObject({ event: 'pusher_internal:member_added' });
      client.send({ event: 'pusher:subscribe', data: { channel: loud } });
      expect(await client.receive()).toEqual(confirmation(loud));
      client.pauseReading();
      const triggering = (async () => {
        for (let count = 0; count < 4; count++) {
          await trigger(server, { name: 'e', channel: loud, data: 'x'.repeat(8_000_000) });
        }
      })();

      let received = await watcher.receive();
      for (; isQuestion(received); received = await watcher.receive()) {
        answer(watcher, received.event);
      }

      expect(received).toEqual({
        event: 'pusher_internal:member_removed',
        channel: presence,
        data: '{"user_id":"gone"}',
      });
      await triggering;
    },
    LONG_MS,
  );
});
