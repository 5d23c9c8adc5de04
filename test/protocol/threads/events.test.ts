import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import { close, dataOf, eightClients } from './several-clients.ts';

const CHANNELS = ['news', 'private-orders', 'cache-scores', 'private-cache-prices'];
const BACKENDS = 6;
const EVENTS = 15;

/** Triggers numbered events in all channels in turn. Each backend uses connections of its own. */
async function publishes(app: TestApp, backend: number): Promise<void> {
  for (let n = 0; n < EVENTS; n++) {
    for (const channel of CHANNELS) {
      const body = JSON.stringify({ name: 'e', channel, data: `${backend}-${n}` });
      const headers = { connection: 'close' };
      const { status } = await app.api('POST', '/events', { body, headers });
      if (status !== 200) throw new Error(`Refused with ${status}`);
    }
  }
}

/** The data of the next events, by channel. */
async function hearsByChannel(client: AppClient, count: number): Promise<Map<string, unknown[]>> {
  const received = new Map<string, unknown[]>(CHANNELS.map((channel) => [channel, []]));
  for (let n = 0; n < count; n++) {
    const { channel = '', data } = await client.receive();
    received.get(channel)?.push(data);
  }
  return received;
}

/** The counts that a client receives, up to this one. */
async function countsUpTo(client: AppClient, last: number): Promise<number[]> {
  const received: number[] = [];
  while (received.at(-1) !== last) {
    const data = dataOf(await client.receive()) as { subscription_count: number };
    received.push(data.subscription_count);
  }
  return received;
}

describe.each([2, 4])('clients on %d threads', (threads) => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({ threads });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('receive the events of several backends in one order per channel', async () => {
    const app = await newApp(server);
    const clients = await eightClients(app);
    for (const client of clients) {
      for (const channel of CHANNELS) {
        await client.subscribe(channel, app.auth(client, channel));
        if (channel.includes('cache-')) await client.receive();
      }
    }

    const publishing = Array.from({ length: BACKENDS }, (_, backend) => publishes(app, backend));
    const count = BACKENDS * EVENTS * CHANNELS.length;
    const received = await Promise.all(clients.map((client) => hearsByChannel(client, count)));
    await Promise.all(publishing);

    const [first = new Map<string, string[]>(), ...others] = received;
    for (const other of others) expect(other).toEqual(first);
    for (const events of first.values()) {
      for (let backend = 0; backend < BACKENDS; backend++) {
        const own = events.filter((data) => String(data).startsWith(`${backend}-`));
        expect(own).toEqual(Array.from({ length: EVENTS }, (_, n) => `${backend}-${n}`));
      }
    }
    await close(clients);
  });

  it('receive client events once, in the same order, but not their own', async () => {
    const app = await newApp(server, { clientEvents: true, limits: { clientEventsPerSecond: 0 } });
    const clients = await eightClients(app);
    const channel = 'private-room';
    for (const client of clients) await client.subscribe(channel, app.auth(client, channel));

    for (let n = 0; n < EVENTS; n++) {
      for (const [from, client] of clients.entries()) {
        client.send({ event: 'client-e', channel, data: `${from}-${n}` });
      }
    }
    const received: unknown[][] = clients.map(() => []);
    for (const [place, client] of clients.entries()) {
      const count = EVENTS * (clients.length - 1);
      for (let n = 0; n < count; n++) received[place]?.push((await client.receive()).data);
    }

    for (const [a, ofA] of received.entries()) {
      expect(ofA.filter((data) => String(data).startsWith(`${a}-`))).toEqual([]);
      for (const [b, ofB] of received.entries()) {
        const isOfOthers = (data: unknown) =>
          !(String(data).startsWith(`${a}-`) || String(data).startsWith(`${b}-`));
        expect(ofA.filter(isOfOthers)).toEqual(ofB.filter(isOfOthers));
      }
    }
    await close(clients);
  });

  it('receive each event after their confirmation once, however many come while they subscribe', async () => {
    const app = await newApp(server);
    const clients = await eightClients(app);
    const count = 60;
    const publishing = (async () => {
      for (let n = 1; n <= count; n++)
        await app.trigger({ name: 'e', channel: 'news', data: `${n}` });
    })();
    for (const client of clients) await client.subscribe('news');
    for (const client of clients) {
      const first = Number((await client.receive()).data);
      for (let n = first + 1; n <= count; n++) {
        expect(await client.receive()).toMatchObject({ event: 'e', data: `${n}` });
      }
    }
    await publishing;
    await close(clients);
  });

  it('get the last event of a cache channel', async () => {
    const app = await newApp(server);
    const clients = await eightClients(app);
    for (const channel of ['cache-a', 'cache-b', 'cache-c', 'cache-d']) {
      for (const data of ['old', 'new']) await app.trigger({ name: 'e', channel, data });
      for (const client of clients) {
        await client.subscribe(channel);
        expect(await client.receive()).toEqual({ event: 'e', channel, data: 'new' });
      }
    }
    await close(clients);
  });

  it('are notified how many subscribers a channel has on all threads', async () => {
    const app = await newApp(server, { subscriptionCounts: true });
    const clients = await eightClients(app);
    for (const client of clients) await client.subscribe('news');
    // Of many changes within a second, all threads report the same ones, and the last.
    const received = await Promise.all(clients.map((client) => countsUpTo(client, clients.length)));
    for (const counts of received) expect(received[0]?.slice(-counts.length)).toEqual(counts);
    const query = { info: 'subscription_count' };
    const answer = await app.api('GET', '/channels/news', { query });
    expect(await answer.json()).toEqual({ occupied: true, subscription_count: 8 });

    const [gone, ...left] = clients;
    await gone?.[Symbol.asyncDispose]();
    for (const client of left) {
      expect(dataOf(await client.receive())).toEqual({ subscription_count: 7 });
    }
    await close(left);
  });
});
