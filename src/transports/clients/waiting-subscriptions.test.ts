import { describe, expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { appWith, channelName, FakeClock, hubWith } from '../../channels/hub.fixture.ts';
import { publish } from '../../channels/publish.ts';
import { stageOf } from './clients.fixture.ts';
import { FakeConnection } from './connection.fixture.ts';

/** An event of this size costs more than the burst of a connection. */
const LARGE = 'x'.repeat(500_000);

function stage() {
  const plain = appWith({ clientEvents: false });
  const app = { ...plain, limits: { ...plain.limits, channelsPerConnection: 5 } };
  const hub = hubWith();
  const monotonic = new FakeClock();
  const apps = { byId: () => app, byKey: () => app };
  const { clients } = stageOf({ hub, apps, monotonic, framesPerSecond: 10 });
  const publishes = (channel: string, data: string) =>
    publish(hub, { app, channel: channelName(channel), name: 'e', data, except: undefined });
  void publishes('cache-large', LARGE);
  const connection = new FakeConnection({ app });
  connection.onClose = () => void clients.closed(connection);
  clients.open(connection);
  connection.sent.length = 0;
  return {
    connection,
    sends(event: string, data: object = {}) {
      clients.received(connection, JSON.stringify({ event: `pusher:${event}`, data }));
    },
    async pass(seconds: number) {
      for (let second = 0; second < seconds; second++) {
        monotonic.advance(1000);
        clients.checkPart(1);
        for (let turn = 0; turn < 3; turn++) await nextTurn();
      }
    },
    heard: () =>
      connection.sent.splice(0).map((frame) => {
        const { event, channel } = frame.startsWith('{') ? JSON.parse(frame) : { event: frame };
        return channel === undefined ? event : `${event} ${channel}`;
      }),
  };
}

const subscribed = (channel: string) => `pusher_internal:subscription_succeeded ${channel}`;

describe('a client that has the server send it too much at once', () => {
  it('waits with its next subscription, and then gets everything in order', async () => {
    const { sends, heard, pass } = stage();
    for (const channel of ['cache-large', 'a', 'b']) sends('subscribe', { channel });
    expect(heard()).toEqual([subscribed('cache-large'), 'e cache-large']);
    await pass(2);
    expect(heard()).toEqual([]);
    // 122 frames are owed, 100 are the burst, and each second pays for 10.
    await pass(1);
    expect(heard()).toEqual([subscribed('a'), subscribed('b')]);
  });

  it('has its other frames answered meanwhile: at once before a subscription, pings also behind it', async () => {
    const { sends, heard, pass } = stage();
    sends('subscribe', { channel: 'cache-large' });
    heard();
    sends('ping');
    expect(heard()).toEqual(['pusher:pong']);
    sends('subscribe', { channel: 'a' });
    sends('ping');
    await pass(1);
    expect(heard()).toEqual(['pusher:pong']);
    await pass(2);
    expect(heard()).toEqual([subscribed('a')]);
  });

  it('is closed like any other if it goes on sending frames while they wait', async () => {
    const { sends, heard, pass, connection } = stage();
    sends('subscribe', { channel: 'cache-large' });
    heard();
    for (let n = 0; n < 99; n++) sends('subscribe', { channel: 'a' });
    await pass(1);
    for (let n = 0; n < 101; n++) sends('unsubscribe', { channel: 'a' });
    expect(connection.isOpen).toBe(false);
  });

  it('leaves nothing behind when it disconnects meanwhile', async () => {
    const { sends, heard, pass, connection } = stage();
    sends('subscribe', { channel: 'cache-large' });
    sends('subscribe', { channel: 'a' });
    connection.terminate();
    heard();
    await pass(10);
    expect(heard()).toEqual([]);
  });
});
