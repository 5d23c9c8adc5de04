import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { streamEvents } from '../../src/admin/channels/stream-shapes.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { LiveStream } from '../../testing/clients/live-stream.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../testing/servers/test-app.ts';
import { fanfare } from '../cli/run-fanfare.ts';

/** What an app shows live, through a server of two realtime threads. */

let server: Fanfare;
const endpoint = Bun.serve({ port: 0, fetch: () => new Response(null, { status: 503 }) });
beforeAll(async () => {
  server = await startFanfare({
    threads: 2,
    config: { webhooks: { allowPrivateAddresses: true }, drainSeconds: 1 },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint.stop(true);
});

const ann = { id: 'ann' };
const memberData = JSON.stringify({ user_id: 'ann', user_info: { name: 'Ann' } });

/** Checks all that a stream has sent so far against the description of the API. */
function expectDescribed({ events }: LiveStream): void {
  for (const [name, all] of events) {
    for (const data of all) {
      expect(streamEvents[name]?.safeParse(data)).toMatchObject({ success: true });
    }
  }
}

describe('the live stream of an app', () => {
  it('shows an event with its receivers on all threads, and one that nobody received with the channel that was meant', async () => {
    const app = await newApp(server);
    const clients = await Promise.all(Array.from({ length: 8 }, () => app.connect()));
    for (const client of clients) await client.subscribe('orders.1');
    await using stream = await LiveStream.open(server, app.id);
    const except = clients[0]?.socketId;
    await app.trigger({ name: 'made', channel: 'orders.1', data: '{"id":17}', socket_id: except });
    const record = await stream.record({ kind: 'api', receivers: 7 });
    expect(record).toEqual({
      n: expect.any(Number),
      node: server.nodes[0] === undefined ? '' : expect.any(String),
      atMs: expect.any(Number),
      kind: 'api',
      channel: 'orders.1',
      event: 'made',
      data: '{"id":17}',
      bytes: 9,
      receivers: 7,
      except,
      key: app.key,
    });
    await app.trigger({ name: 'made', channel: 'orders-1', data: 'x'.repeat(5000) });
    const unheard = await stream.record({ channel: 'orders-1', near: 'orders.1' });
    expect(unheard).toMatchObject({ receivers: 0, bytes: 5000, data: 'x'.repeat(1024) });
    const alone = await app.connect();
    await alone.subscribe('orders-2');
    await app.trigger({ name: 'made', channel: 'orders-2', data: '', socket_id: alone.socketId });
    const excepted = await stream.record({ reason: 'The only subscriber was excepted' });
    expect(excepted).toMatchObject({ channel: 'orders-2', receivers: 0 });
    expect(excepted).not.toHaveProperty('near');
    await alone[Symbol.asyncDispose]();
    const counted = () =>
      (stream.events.get('counts') ?? []).reduce<number>(
        (sum, counts) => sum + (Object(counts).kinds.api ?? 0),
        0,
      );
    await stream.event('counts', () => counted() === 3);
    expectDescribed(stream);
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('shows what clients do, in the order in which they do it', async () => {
    const settings = { clientEvents: true, subscriptionCounts: true, offlineSeconds: 1 };
    const app = await newApp(server, settings);
    await using stream = await LiveStream.open(server, app.id);
    const client = await app.connect();
    const socket = client.socketId;
    client.send(app.signIn(client, ann));
    await client.receive();
    const room = 'presence-cache-room';
    await client.subscribe(room, app.auth(client, room, memberData));
    await client.receive();
    client.send({ event: 'client-typing', channel: room, data: { text: 'Hi' } });
    client.send({ event: 'pusher:unsubscribe', data: { channel: room } });
    client.send({ event: 'unknown' });
    await client.receive();
    await client.subscribe('public');
    // Before the client leaves: a count replaces one that was not shown yet.
    await stream.record({ kind: 'count', count: 1 });
    await client[Symbol.asyncDispose]();
    await stream.record({ kind: 'disconnected' });
    await stream.record({ kind: 'vacated', channel: 'public' });
    await stream.record({ kind: 'user-offline', user: 'ann' });
    expectDescribed(stream);
    const ofClient = stream.records.filter((record) => record['socket'] === socket);
    expect(ofClient.map(({ kind }) => kind)).toEqual([
      'connected',
      'signed-in',
      'subscribed',
      'cache-miss',
      'client',
      'unsubscribed',
      'error',
      'subscribed',
      'disconnected',
      'unsubscribed',
    ]);
    expect(ofClient[2]).toMatchObject({ channel: room, user: 'ann', data: '{"name":"Ann"}' });
    expect(ofClient[4]).toMatchObject({
      event: 'client-typing',
      data: '{"text":"Hi"}',
      receivers: 0,
      user: 'ann',
    });
    for (const kind of ['user-online', 'user-offline']) {
      expect(stream.records.filter((one) => one.kind === kind)).toMatchObject([{ user: 'ann' }]);
    }
    for (const kind of ['occupied', 'member-added', 'member-removed', 'vacated']) {
      expect(
        stream.records.filter((one) => one.kind === kind && one['channel'] === room),
      ).toHaveLength(1);
    }
  });

  it('shows why a client was refused, ended, or ended for another, without what was signed', async () => {
    const app = await newApp(server, { limits: { connections: 2 } });
    await using stream = await LiveStream.open(server, app.id);
    await using client = await app.connect();
    const { auth } = app.auth(client, 'private-other');
    client.send({ event: 'pusher:subscribe', data: { channel: 'private-x', auth } });
    const refused = await stream.record({ kind: 'refused', channel: 'private-x' });
    expect(refused).toMatchObject({
      socket: client.socketId,
      reason: expect.stringContaining(`hex digest of ${client.socketId}:private-x`),
      advice: expect.stringContaining('Compare'),
    });
    const other = await app.connect();
    other.send(app.signIn(other, ann));
    await other.receive();
    const third = await app.connect().catch((error: Error) => error);
    expect(third).toBeInstanceOf(Error);
    await stream.record({ kind: 'error', code: 4004 });
    await app.post('/users/ann/terminate_connections', {});
    await stream.record({ kind: 'terminated', code: 4009, user: 'ann' });
    expect(JSON.stringify(stream.records)).not.toContain(String(auth).split(':')[1] ?? 'none');
    expect(JSON.stringify(stream.records)).not.toContain(app.secret);
  });

  it('shows attempts to send webhooks, with the host of the address only', async () => {
    const webhooks = [
      { url: `${endpoint.url}token`, events: ['channel_occupied'], batching: true },
    ];
    const app = await newApp(server, { webhooks });
    await using stream = await LiveStream.open(server, app.id, '?kinds=webhook');
    await using client = await app.connect();
    await client.subscribe('news');
    const { host } = new URL(endpoint.url);
    expect(await stream.record({ kind: 'webhook' })).toMatchObject({
      host,
      event: 'channel_occupied',
      status: 503,
      outcome: 'refused',
    });
    expect(stream.kinds()).not.toContain('subscribed');
    expect(JSON.stringify(stream.records)).not.toContain('token');
  });

  it('shows only what is asked for', async () => {
    const app = await newApp(server, { clientEvents: true });
    await using client = await app.connect();
    await client.subscribe('private-a', app.auth(client, 'private-a'));
    const queries = {
      channel: '?channel=private-a',
      prefix: '?prefix=priv',
      socket: `?socket=${client.socketId}`,
      text: '?kinds=api,client&text=FIND',
    };
    const streams = Object.fromEntries(
      await Promise.all(
        Object.entries(queries).map(async ([name, query]) => [
          name,
          await LiveStream.open(server, app.id, query),
        ]),
      ),
    ) as Record<keyof typeof queries, LiveStream>;
    await app.trigger({ name: 'e', channel: 'public', data: 'find me' });
    await app.trigger({ name: 'e', channel: 'private-a', data: '1' });
    client.send({ event: 'client-e', channel: 'private-a', data: '2' });
    await client.receive();
    for (const stream of [streams.channel, streams.prefix]) {
      // They may come from two realtime threads.
      await stream.record({ kind: 'api' });
      await stream.record({ kind: 'client' });
      expect(stream.kinds().toSorted()).toEqual(['api', 'client']);
    }
    await streams.socket.record({ kind: 'client' });
    expect(streams.socket.kinds()).toEqual(['client']);
    await streams.text.record({ kind: 'api', channel: 'public' });
    expect(streams.text.kinds()).toEqual(['api']);
    // These are as many as an app may have.
    await expect(LiveStream.open(server, app.id)).rejects.toThrow('429');
    for (const stream of Object.values(streams)) await stream[Symbol.asyncDispose]();
  });

  it('does not show the data of encrypted channels', async () => {
    const app = await newApp(server);
    await using stream = await LiveStream.open(server, app.id);
    await app.trigger({ name: 'e', channel: 'private-encrypted-x', data: '{"ciphertext":"abc"}' });
    const record = await stream.record({ kind: 'api' });
    expect(record['bytes']).toBe(20);
    expect(record).not.toHaveProperty('data');
  });

  it('ends when the app goes, and is not opened for one that is not there', async () => {
    const app = await newApp(server);
    await using stream = await LiveStream.open(server, app.id);
    await admin(server, 'POST', `/apps/${app.id}/disable`);
    expect(await stream.event('end')).toEqual({ why: 'app-gone' });
    await stream.ended;
    await expect(LiveStream.open(server, app.id)).rejects.toThrow('409');
    await expect(LiveStream.open(server, 'nobody')).rejects.toThrow('404');
    await expect(LiveStream.open(server, app.id, '?kinds=api,none')).rejects.toThrow(
      'must be some of api, client,',
    );
  });

  it('is a line of the log and a metric, while it is open', async () => {
    const app = await newApp(server);
    const opened = server.logsNext(/Live stream opened/);
    const closed = server.logsNext(/Live stream closed/);
    const watchers = async () =>
      /^fanfare_watchers (\d+)$/m.exec((await admin(server, 'GET', '//metrics')).text)?.[1];
    const stream = await LiveStream.open(server, app.id);
    expect(JSON.parse(await opened)).toMatchObject({ app: app.id, by: 'password' });
    expect(Number(await watchers())).toBeGreaterThan(0);
    await stream[Symbol.asyncDispose]();
    expect(await closed).toContain(app.id);
    // The streams of other tests may still be about to close.
    await eventually(watchers, (streams) => streams === '0');
  });
});

it('a live stream of a server that hides payloads has no data, and ends when the server stops', async () => {
  await using hiding = await startFanfare({ config: { dashboard: { payloads: 'hide' } } });
  const app = await newApp(hiding);
  await using stream = await LiveStream.open(hiding, app.id);
  await app.trigger({ name: 'e', channel: 'news', data: 'personal' });
  expect(await stream.record({ kind: 'api' })).toMatchObject({ bytes: 8, event: 'e' });
  expect(await stream.event('hello')).toMatchObject({ payloads: 'hide' });
  expect(JSON.stringify([...stream.events])).not.toContain('personal');
  const stopped = hiding.stop();
  expect(await stream.event('end')).toEqual({ why: 'stopping' });
  await stopped;
});

describe('fanfare tail', () => {
  const start = (app: TestApp, ...args: string[]) =>
    fanfare(server.directory, [
      'tail',
      app.id,
      ...args,
      '--url',
      `http://127.0.0.1:${server.adminPort}`,
      '--config',
      join(server.directory, 'config.json'),
    ]);
  /** What a command prints of two events, which nobody receives, until the app is deleted. */
  const tailOf = async (...args: readonly string[]) => {
    const app = await newApp(server);
    await using client = await app.connect();
    await client.subscribe('orders.1');
    const opened = server.logsNext(/Live stream opened/);
    const ended = start(app, ...args);
    await opened;
    // It is opened after the other, and shows when all was seen.
    await using stream = await LiveStream.open(server, app.id);
    await app.trigger({ name: 'made\u202e', channel: 'orders-1', data: 'Hello' });
    await stream.record({ near: 'orders.1' });
    await app.trigger({ name: 'made', channel: 'other', data: '' });
    await stream.record({ channel: 'other' });
    await admin(server, 'DELETE', `/apps/${app.id}`);
    return await ended;
  };

  it('prints what is asked for, one line for each event', async () => {
    const { exitCode, stdout, stderr } = await tailOf('--channel', 'orders-1');
    expect(stdout.replace(/^[\d:.]{12}/gm, 'TIME')).toBe(
      'TIME  api             orders-1  made\\u202e  0 connections received it  5 bytes  Hello\n' +
        'The event on orders-1 had no receivers. Did you mean orders.1?\n',
    );
    expect([exitCode, stderr]).toEqual([
      1,
      'fanfare: the stream has ended: the app was disabled or deleted\n',
    ]);
  });

  it('prints JSON for programs', async () => {
    const { stdout } = await tailOf('--kinds', 'api', '--json');
    const lines = stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { kind: 'api', channel: 'orders-1', data: 'Hello' },
      { update: { n: lines[0].n, near: 'orders.1' } },
      { kind: 'api', channel: 'other' },
    ]);
  });

  it('reports what is wrong', async () => {
    const app = await newApp(server);
    expect((await start(app, '--kinds', 'none')).stderr).toContain('kinds: must be some of api');
    expect((await start(Object({ id: 'nobody' }))).stderr).toContain('404');
  });
});
