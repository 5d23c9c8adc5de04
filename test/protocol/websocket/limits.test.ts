import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../../testing/clients/raw-client.ts';
import { trigger } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppLocation, appAt, newApp } from '../../../testing/servers/test-app.ts';
import {
  allChannelsVacated,
  type Client,
  channelData,
  confirmation,
  connect,
  error,
  fresh,
  hearsEnd,
  hearsRefusal,
  join,
  LIMIT_REACHED,
  LONG_MS,
  leave,
  member,
  PROTOCOLS,
  subscribe,
  unsubscribe,
} from './conversation.ts';

/** Source: Channels protocol, §4 (4004, 4100), §5.1 and §16. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

async function isRefused(at: AppLocation, code: number, text: string): Promise<void> {
  const { key } = appAt(at);
  for (const protocol of PROTOCOLS) {
    await using client = await RawClient.open(at, { path: pathOf(protocol, key) });
    await hearsEnd(client, code, text);
  }
}

describe('an app that may have two connections', () => {
  const appOfTwo = () => newApp(server, { limits: { connections: 2 } });

  it('has a third refused with 4004, until one of the two is gone', async () => {
    const app = await appOfTwo();
    await using one = await connect(app);
    await using two = await connect(app, 5);

    await isRefused(app, 4004, 'Account over quota');
    await one.receiveNothing();
    await leave(two);

    await using three = await connect(app, 6);
    await isRefused(app, 4004, 'Account over quota');
    await three.receiveNothing();
  });

  it('has a place free again after a connection broke off', async () => {
    const app = await appOfTwo();
    const channel = fresh('presence-');
    await using watcher = await member(app, channel, channelData('watcher'));
    const client = await member(app, channel, channelData('1'));
    expect(await watcher.receive()).toMatchObject({ event: 'pusher_internal:member_added' });

    await client[Symbol.asyncDispose]();

    expect(await watcher.receive()).toMatchObject({ event: 'pusher_internal:member_removed' });
    await using another = await connect(app);
    await another.receiveNothing();
  });

  it('does not take away the places of another app', async () => {
    const app = await appOfTwo();
    await using _one = await connect(app);
    await using _two = await connect(app);

    await using other = await connect(server);

    await other.receiveNothing();
  });
});

describe('a server that may have two connections', () => {
  let full: Fanfare;
  beforeAll(async () => {
    full = await startFanfare({ channels: { maxConnections: 2 }, onlyOne: 'connections' });
  });
  afterAll(() => full[Symbol.asyncDispose]());

  it('refuses a third with 4100, of any app, until one of the two is gone', async () => {
    await using one = await connect(full);
    await using two = await connect(await newApp(full));

    await isRefused(full, 4100, 'Over capacity');
    await one.receiveNothing();
    await leave(two);

    await using three = await connect(full);
    await isRefused(full, 4100, 'Over capacity');
    await three.receiveNothing();
    await leave(one);
    await leave(three);
  });

  it('does not count connections that it refused', async () => {
    const refused: RawClient[] = [];
    for (let count = 0; count < 5; count++) {
      refused.push(await RawClient.open(full, { path: '/app/nobodys-key?protocol=7' }));
    }

    await using one = await connect(full);
    await using two = await connect(full);

    await one.receiveNothing();
    await two.receiveNothing();
    await Promise.all(refused.map((client) => client.closed));
  });
});

describe('an app whose connections may be in three channels', () => {
  it('has a fourth subscription refused, until one of the three is given up', async () => {
    const app = await newApp(server, { limits: { channelsPerConnection: 3 } });
    for (const protocol of PROTOCOLS) {
      await using client = await connect(app, protocol);
      const given = fresh();
      await join(client, given);
      await join(client, fresh('private-'));
      await join(client, fresh('presence-'), channelData('1'));

      for (const prefix of ['', 'private-', 'presence-']) {
        const channel = fresh(prefix);
        subscribe(client, channel, channelData('1'));
        await hearsRefusal(client, channel, expect.stringContaining('3 channels'), LIMIT_REACHED);
      }
      // Subscribing again to one of the three is refused for that, and not for the limit.
      subscribe(client, given);
      expect(await client.receive()).toEqual(error(`Existing subscription to channel ${given}`));
      unsubscribe(client, given);
      await join(client, fresh());
      subscribe(client, given);
      await hearsRefusal(client, given, expect.stringContaining('3 channels'), LIMIT_REACHED);
      await client.receiveNothing();
    }
  });

  it('may be in 1,000 by default', async () => {
    const app = await newApp(server);
    await using client = await connect(app);
    const names = Array.from({ length: 1000 }, () => fresh());

    for (const channel of names) subscribe(client, channel);

    for (const channel of names) expect(await client.receive()).toEqual(confirmation(channel));
    await leave(client);
    await allChannelsVacated(app);
  });
});

describe('a frame from a client', () => {
  it('may have 64 KiB by default, and is answered with 1009 when it has more', async () => {
    for (const protocol of PROTOCOLS) {
      await using client = await connect(server, protocol);
      const event = 'x'.repeat(65_536 - '{"event":""}'.length);

      client.send({ event });
      expect(await client.receive()).toEqual(
        error(`Unsupported event received on socket: ${event}`),
      );
      client.send({ event: `${event}x` });

      expect(await client.closed).toMatchObject({ code: 1009 });
    }
  });
});

describe('a client that does not read', () => {
  const DATA = 'x'.repeat(200_000);
  const EVENTS_MAX = 500;
  const QUESTIONS_MAX = 2000;
  const QUESTIONS_AT_ONCE = 10;

  /** A server that closes a connection for which more than this waits. */
  const startWithBuffer = (sendBufferBytes: number) =>
    startFanfare({
      channels: { sendBufferBytes },
      app: { limits: { eventDataBytes: DATA.length + 100 } },
    });

  /** The line that the server logs when it closes a client that reads too slowly. */
  const closedSlow = (server: Fanfare, { socketId }: Client) =>
    server.logged(new RegExp(`read too slowly.*"connection":"${socketId}"`));

  /** Publishes numbered events until the server has logged that it closed the slow client. All others receive each of them. */
  async function publishUntilClosed(
    server: Fanfare,
    channel: string,
    { slow, others = [] }: { readonly slow: Client; readonly others?: readonly Client[] },
  ): Promise<void> {
    let published = 0;
    let closed = false;
    void closedSlow(server, slow).then(() => {
      closed = true;
    });
    while (!closed && published < EVENTS_MAX) {
      const start = `${published++}:`;
      await trigger(server, { name: 'e', channel, data: `${start}${DATA}` });
      // A reader that is busy elsewhere, as this process is, would look slow as well.
      for (const client of others) {
        const { event, channel: from, data } = await client.receive();
        expect([event, from]).toEqual(['e', channel]);
        expect(String(data)).toStartWith(start);
      }
    }
    expect(published).toBeLessThan(EVENTS_MAX);
  }

  it(
    'is closed, logged and counted, and nobody else misses anything',
    async () => {
      await using server = await startWithBuffer(1_000_000);
      const channel = fresh();
      await using listener = await member(server, channel);
      await using another = await member(server, channel, undefined, 5);
      for (const times of [1, 2]) {
        await using slow = await member(server, channel);
        slow.pauseReading();

        await publishUntilClosed(server, channel, { slow, others: [listener, another] });

        await listener.receiveNothing();
        await another.receiveNothing();
        expect(JSON.parse(await closedSlow(server, slow))).toMatchObject({
          level: 'warn',
          address: '127.0.0.1',
          app: APP.id,
          closedSoFar: times,
          limitBytes: 1_000_000,
        });
        // It reads what was in flight, without a gap, and then the connection has ended.
        slow.resumeReading();
        expect(await slow.closed).toMatchObject({ code: undefined });
        const { data } = await slow.receive();
        expect(String(data)).toStartWith('0:');
      }
      await leave(listener);
      await leave(another);
      await allChannelsVacated(server);
    },
    LONG_MS,
  );

  describe('of a server with a small buffer', () => {
    let small: Fanfare;
    beforeAll(async () => {
      // One event is larger than the buffer.
      small = await startWithBuffer(100_000);
    });
    afterAll(() => small[Symbol.asyncDispose]());

    it(
      'is removed from its presence channels',
      async () => {
        const presence = fresh('presence-');
        const loud = fresh();
        await using watcher = await member(small, presence, channelData('watcher'));
        await using slow = await member(small, presence, channelData('slow'));
        await join(slow, loud);
        slow.pauseReading();
        expect(await watcher.receive()).toMatchObject({ event: 'pusher_internal:member_added' });

        await publishUntilClosed(small, loud, { slow });

        expect(await watcher.receive()).toEqual({
          event: 'pusher_internal:member_removed',
          channel: presence,
          data: '{"user_id":"slow"}',
        });
      },
      LONG_MS,
    );

    it(
      'is also closed when it does not read the answers to its own messages',
      async () => {
        await using slow = await connect(small);
        slow.pauseReading();
        let closed = false;
        const logged = closedSlow(small, slow).then(() => {
          closed = true;
        });

        // The next connection is answered after the messages above.
        for (let asked = 0; !closed && asked < QUESTIONS_MAX; asked += QUESTIONS_AT_ONCE) {
          for (let n = 0; n < QUESTIONS_AT_ONCE; n++) slow.send({ event: 'x'.repeat(60_000) });
          await using next = await connect(small);
          await next.receiveNothing();
        }

        await logged;
        await using fine = await connect(small);
        await fine.receiveNothing();
      },
      LONG_MS,
    );
  });
});

describe('the order of events', () => {
  it('is the order of publishing, for every subscriber', async () => {
    const [one, two] = [fresh(), fresh('private-')];
    const clients: Client[] = [];
    for (let count = 0; count < 20; count++) {
      const client = await connect(server, PROTOCOLS[count % PROTOCOLS.length]);
      clients.push(client);
      await join(client, one);
      await join(client, two);
    }

    for (let number = 0; number < 100; number++) {
      const excepted = number % 10 === 5 ? { socket_id: clients[0]?.socketId } : {};
      const channels = number % 2 === 0 ? [one, two] : [two, one];
      await trigger(server, { name: 'e', channels, data: `${number}`, ...excepted });
    }

    for (const [index, client] of clients.entries()) {
      for (let number = 0; number < 100; number++) {
        if (index === 0 && number % 10 === 5) continue;
        const received = [await client.receive(), await client.receive()];
        expect(received.map(({ data }) => data)).toEqual([`${number}`, `${number}`]);
        expect(received.map(({ channel }) => channel)).toEqual(
          number % 2 === 0 ? [one, two] : [two, one],
        );
      }
      await client.receiveNothing();
      await client[Symbol.asyncDispose]();
    }
  });
});
