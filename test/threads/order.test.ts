import { expect, it } from 'bun:test';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api } from '../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

const ROOMS = ['room-0', 'room-1', 'room-2', 'room-3', 'room-4', 'room-5'];
const SUBSCRIBERS = 12;
const EVENTS = 300;

/** Triggers an event over a connection of its own, which the kernel gives to any thread. */
async function trigger(server: Fanfare, channel: string, name: string): Promise<void> {
  const body = JSON.stringify({ name, channel, data: '"x"' });
  const headers = { connection: 'close' };
  const { status } = await api(server, 'POST', `/apps/${APP.id}/events`, { body, headers });
  expect(status).toBe(200);
}

it('sends everybody the events of a backend in the order of its triggers, each of which any thread answered', async () => {
  await using server = await startFanfare({ threads: 4 });
  await using parts = new AsyncDisposableStack();
  const subscribers: RawClient[] = [];
  for (let n = 0; n < SUBSCRIBERS; n++) {
    const client = parts.use(await RawClient.connect(server));
    for (const room of ROOMS) await client.subscribe(room);
    subscribers.push(client);
  }

  // Others keep the threads busy, so that they find several things to do in a turn.
  let isOver = false;
  const others = Array.from({ length: 6 }, async (_, n) => {
    while (!isOver) await trigger(server, `other-${n}`, 'noise');
  });
  const expected = new Map(ROOMS.map((room): [string, string[]] => [room, []]));
  for (let n = 0; n < EVENTS; n++) {
    const room = ROOMS[Math.floor(n / 10) % ROOMS.length] ?? '';
    expected.get(room)?.push(`event-${n}`);
    await trigger(server, room, `event-${n}`);
  }
  isOver = true;
  await Promise.all(others);

  for (const client of subscribers) {
    const received = new Map(ROOMS.map((room): [string, string[]] => [room, []]));
    for (let n = 0; n < EVENTS; n++) {
      const { channel = '', event } = await client.receive();
      received.get(channel)?.push(event);
    }
    expect(received).toEqual(expected);
  }
});

it('delivers every event that any thread has answered before a stop', async () => {
  await using server = await startFanfare({ threads: 4 });
  await using parts = new AsyncDisposableStack();
  const subscribers: RawClient[] = [];
  for (let n = 0; n < SUBSCRIBERS; n++) {
    const client = parts.use(await RawClient.connect(server));
    for (const room of ROOMS) await client.subscribe(room);
    subscribers.push(client);
  }
  const names = Array.from({ length: 120 }, (_, n) => `event-${n}`);
  await Promise.all(names.map((name, n) => trigger(server, ROOMS[n % ROOMS.length] ?? '', name)));

  expect(await server.stop()).toBe(0);

  for (const client of subscribers) {
    const received: string[] = [];
    for (let n = 0; n < names.length; n++) received.push((await client.receive()).event);
    expect(received.sort()).toEqual(names.toSorted());
    expect(await client.closed).toMatchObject({ code: 4100 });
  }
});
