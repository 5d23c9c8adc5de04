import { describe, expect, it } from 'bun:test';
import { readFileSync } from 'node:fs';
import { admin } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { withWebhooks } from '../../testing/servers/app-with-webhooks.ts';
import { startCompanion } from '../../testing/servers/companion.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { newApp } from '../../testing/servers/test-app.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';

/** The kernel puts them on several threads: the chance that 40 land on one of two is 1 in 10^12. */
const MANY = 40;

function connectMany(server: Fanfare) {
  return Promise.all(Array.from({ length: MANY }, () => RawClient.connect(server)));
}

/** Sends triggers at the same time, each on a connection of its own. Returns how many were accepted. */
async function triggerMany(server: Fanfare, count: number): Promise<number> {
  const body = JSON.stringify({ name: 'e', channel: 'nobody-listens', data: 'x' });
  const statuses = await Promise.all(
    Array.from({ length: count }, async () => {
      const headers = { connection: 'close' };
      return (await api(server, 'POST', `/apps/${APP.id}/events`, { body, headers })).status;
    }),
  );
  return statuses.filter((status) => status === 200).length;
}

/** The values of the metrics whose name and label begin with `start`. */
async function metric(server: Fanfare, start: string): Promise<number[]> {
  const { text } = await admin(server, 'GET', '//metrics');
  const lines = text.split('\n').filter((line) => line.startsWith(start));
  return lines.map((line) => Number(line.split(' ').at(-1)));
}

/** How many sockets listen on a port of 127.0.0.1. */
function listenersOf(port: number): number {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`;
  return readFileSync('/proc/net/tcp', 'utf8').split(address).length - 1;
}

describe('a server with several realtime threads', () => {
  it.each([2, 4])('serves clients on one port: %p threads', async (threads) => {
    await using server = await startFanfare({ threads });
    expect(server.output.stdout).toContain(`on ${threads} threads`);
    expect(listenersOf(server.port)).toBe(threads);

    const clients = await connectMany(server);

    expect(new Set(clients.map(({ socketId }) => socketId)).size).toBe(MANY);
    expect(await server.stop()).toBe(0);
    for (const client of clients) expect(await client.closed).toMatchObject({ code: 4100 });
  });

  it('closes the connections of all threads over the drain time', async () => {
    await using companion = await startCompanion();
    const config = { ...companion.config, drainSeconds: 3 };
    await using server = await startFanfare({ threads: 2, config });
    const clients = await connectMany(server);
    const closedAtMs: number[] = [];
    const closed = clients.map(async (client) => {
      expect(await client.closed).toMatchObject({ code: 4200 });
      closedAtMs.push(performance.now());
    });

    server.process.kill('SIGTERM');
    await server.logged(/Stopping/);
    const stoppingAtMs = performance.now();
    await Promise.all(closed);

    // Well before its end, some are still there.
    const early = closedAtMs.filter((atMs) => atMs - stoppingAtMs < 200);
    expect(early.length).toBeLessThan(MANY);
    expect(await server.process.exited).toBe(0);
  });

  it('adds up the figures of all threads', async () => {
    await using server = await startFanfare({ threads: 2 });
    const clients = await connectMany(server);
    expect(await triggerMany(server, 30)).toBe(30);

    expect(await metric(server, 'fanfare_connections ')).toEqual([MANY]);
    expect(await metric(server, 'fanfare_connections_opened_total ')).toEqual([MANY]);
    expect(await metric(server, 'fanfare_events_published_total ')).toEqual([30]);
    const [answers] = await metric(server, 'fanfare_engine_answer_seconds_count ');
    expect(answers).toBeGreaterThan(0);
    for (const name of ['fanfare_event_loop_delay_seconds', 'fanfare_log_lines_dropped_total']) {
      for (const loop of ['realtime', 'realtime-1', 'background']) {
        expect(await metric(server, `${name}{loop="${loop}"}`)).toHaveLength(1);
      }
      expect(await metric(server, `${name}{loop="realtime-2"}`)).toEqual([]);
    }
    const { json } = await admin(server, 'GET', '/live');
    expect(json).toMatchObject({ apps: [{ id: APP.id, connections: MANY, messagesToday: 30 }] });
    const uses = await admin(server, 'GET', `/apps/${APP.id}/keys`);
    expect(uses.json).toMatchObject({
      keys: [{ key: APP.key, connections: MANY, lastRequestAtMs: expect.any(Number) }],
    });
    for (const client of clients) await client[Symbol.asyncDispose]();
    await eventually(
      async () => await metric(server, 'fanfare_connections '),
      ([connections]) => connections === 0,
    );
  });

  it('serves a changed app on all threads once the change is answered', async () => {
    await using server = await startFanfare({ threads: 3 });
    const app = await newApp(server);
    const path = pathOf(7, app.key);
    const clients = await Promise.all(
      Array.from({ length: MANY }, () => RawClient.connect(server, { path })),
    );

    const changed = await admin(server, 'PATCH', `/apps/${app.id}`, { body: { enabled: false } });
    expect(changed.status).toBe(200);

    for (const client of clients) expect(await client.closed).toMatchObject({ code: 4003 });
    const refused = await Promise.all(
      Array.from({ length: MANY }, () => RawClient.open(server, { path })),
    );
    for (const client of refused) expect(await client.closed).toMatchObject({ code: 4003 });
  });

  it('sends the webhooks of all threads, each once', async () => {
    using endpoint = startWebhookEndpoint();
    await using server = await startFanfare({
      threads: 3,
      app: withWebhooks([{ url: endpoint.url, events: ['channel_occupied'] }]),
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    const clients = await connectMany(server);
    const channels = clients.map((_, place) => `channel-${place}`);
    await Promise.all(clients.map((client, place) => client.subscribe(`channel-${place}`)));

    const occupied: string[] = [];
    for (const _ of channels) occupied.push((await endpoint.events.next()).channel);
    expect(occupied.sort()).toEqual(channels.sort());
    expect(await server.stop()).toBe(0);
    const events = endpoint.bodies.flatMap((body) => JSON.parse(body).events);
    expect(events).toHaveLength(MANY);
  });

  it('stores the messages of all threads, each once, also when it stops', async () => {
    await using stopped = await startFanfare({ threads: 3 });
    expect(await triggerMany(stopped, 50)).toBe(50);
    await using server = await restart(stopped);
    await eventually(
      async () => (await admin(server, 'GET', `/apps/${APP.id}/usage`)).text,
      (text) => text.includes('"messages":50'),
    );
  });
});

describe('a limit of a server with several realtime threads holds for their sum', () => {
  it('channels.maxConnections', async () => {
    await using server = await startFanfare({ threads: 3, channels: { maxConnections: 10 } });
    const clients: RawClient[] = [];
    for (let n = 0; n < 10; n++) clients.push(await RawClient.connect(server));

    for (let n = 0; n < 8; n++) {
      const refused = await RawClient.open(server);
      expect(await refused.closed).toMatchObject({ code: 4100 });
    }

    for (const client of clients.splice(0, 5)) await client[Symbol.asyncDispose]();
    await eventually(
      async () => await metric(server, 'fanfare_connections '),
      ([connections]) => connections === 5,
    );
    for (let n = 0; n < 5; n++) clients.push(await RawClient.connect(server));
    expect(await metric(server, 'fanfare_connections ')).toEqual([10]);
  });

  it('limits.connections of an app', async () => {
    await using server = await startFanfare({ threads: 3, app: { limits: { connections: 10 } } });
    const clients: RawClient[] = [];
    for (let n = 0; n < 10; n++) clients.push(await RawClient.connect(server));

    for (let n = 0; n < 8; n++) {
      const refused = await RawClient.open(server);
      expect(await refused.closed).toMatchObject({ code: 4004 });
    }
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('limits.messagesPerDay of an app', async () => {
    await using server = await startFanfare({
      threads: 3,
      app: { limits: { messagesPerDay: 20 } },
    });
    let accepted = await triggerMany(server, 10);
    expect(accepted).toBe(10);
    for (let some = accepted; some > 0; accepted += some) some = await triggerMany(server, 5);
    expect(accepted).toBeGreaterThanOrEqual(20);
    // Threads know a little late what the others have used.
    expect(accepted).toBeLessThanOrEqual(22);
    await server.logged(/Daily quota of messages.*"left":"0%"/);
    expect(server.output.stderr.match(/"left":"0%"/g)).toHaveLength(1);
  });

  it('limits.triggersPerSecond of an app', async () => {
    await using server = await startFanfare({
      threads: 3,
      app: { limits: { triggersPerSecond: 50 } },
    });
    const startedAtMs = performance.now();
    let accepted = 0;
    while (performance.now() - startedAtMs < 3000) accepted += await triggerMany(server, 20);
    const seconds = (performance.now() - startedAtMs) / 1000;

    // The burst of one second, then the rate, and a tenth of a second's worth too much in each of both.
    expect(accepted).toBeLessThanOrEqual(50 * (1 + seconds) + 10);
    expect(accepted).toBeGreaterThan(50 * seconds * 0.8);
  });
});
