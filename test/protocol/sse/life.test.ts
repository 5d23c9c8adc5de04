import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import { EventReader } from '../../../testing/clients/event-reader.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { signedTarget, trigger } from '../../../testing/clients/sign.ts';
import { eventually } from '../../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp } from '../../../testing/servers/test-app.ts';
import { fresh, LONG_MS } from '../websocket/conversation.ts';

/** How readers live, are bounded and end. */

const SEND_BUFFER = 100_000;

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: { limits: { eventDataBytes: 1_000_000 } },
    // A client that could answer would be closed after three seconds.
    channels: {
      sendBufferBytes: SEND_BUFFER,
      activityTimeoutSeconds: 1,
      pongTimeoutSeconds: 1,
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const target = (channel: string) => `/apps/${APP.id}/channels/${channel}/stream?key=${APP.key}`;

async function metric(name: string): Promise<number> {
  const { text } = await admin(server, 'GET', '//metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

const until = (name: string, value: number) =>
  eventually(
    () => metric(name),
    (found) => found === value,
  );

describe('a reader', () => {
  it('is a connection of its app, that operators see and can close', async () => {
    const channel = fresh();
    await using reader = await EventReader.open(server, target(channel));
    await reader.next();
    const { data = '' } = await reader.next();
    const socketId = JSON.parse(JSON.parse(data).data).socket_id;
    await reader.confirmed();
    expect(await metric('fanfare_readers')).toBe(1);
    expect(await metric('fanfare_connections')).toBe(1);

    const path = `/apps/${APP.id}/connections/${socketId}`;
    const { json: shown } = await admin(server, 'GET', path);
    expect(shown).toMatchObject({ socketId, transport: 'sse', channelNames: [channel] });
    const ended = await admin(server, 'DELETE', path);
    expect(ended.status).toBe(200);
    expect(await reader.event()).toEqual({
      event: 'pusher',
      data: '{"event":"pusher:error","data":{"code":4009,"message":"Connection terminated by the application"}}',
    });
    expect(await reader.ended).toBe('ended');
    await until('fanfare_readers', 0);
  });

  it('leaves its channels when its client goes away', async () => {
    const reader = await EventReader.open(server, target(fresh()));
    await reader.confirmed();
    reader.leave();
    await until('fanfare_connections', 0);
  });

  it('ends with 4003 when its app is deleted', async () => {
    const app = await newApp(server);
    await using reader = await EventReader.open(
      server,
      `/apps/${app.id}/channels/news/stream?key=${app.key}`,
    );
    await reader.confirmed();
    const { status } = await admin(server, 'DELETE', `/apps/${app.id}`);
    expect(status).toBeLessThan(300);
    expect((await reader.event()).data).toContain('"code":4003');
    expect(await reader.ended).toBe('ended');
  });

  it('ends without a word when its URL expires, and is then refused', async () => {
    const path = `/apps/${APP.id}/channels/private-a/stream`;
    const expires = String(Math.floor(Date.now() / 1000) + 2);
    const presigned = signedTarget('GET', path, { query: { expires } });
    await using reader = await EventReader.open(server, presigned);
    await reader.confirmed();
    expect(await reader.ended).toBe('ended');
    await expect(reader.next()).rejects.toThrow('The stream has ended');
    await expect(EventReader.open(server, presigned)).rejects.toThrow('401 Signature expired');
  });

  it(
    'gets a comment when nothing was sent for 15 s, and is never asked to answer',
    async () => {
      await using reader = await EventReader.open(server, target(fresh()));
      await reader.confirmed();
      expect(await reader.comments.next()).toBe(':');
      const channel = fresh();
      await using other = await EventReader.open(server, target(channel));
      await other.confirmed();
      await trigger(server, { name: 'e', channel, data: 'x' });
      expect(await other.message()).toBe('x');
    },
    LONG_MS,
  );

  it('is broken off when too much waits for it, which others do not notice', async () => {
    const channel = fresh();
    await using deaf = await RawHttp.open(server);
    deaf.sendRequest({ method: 'GET', target: target(channel) });
    await deaf.readHead();
    await using other = await EventReader.open(server, target(channel));
    await other.confirmed();
    await until('fanfare_readers', 2);
    deaf.pauseReading();
    // Less than its limit for one client, and more than what the kernel takes for it.
    const data = 'x'.repeat(SEND_BUFFER / 2);
    const closed = server.logged(/read too slowly/);
    let isClosed = false;
    void closed.then(() => (isClosed = true));
    let sent = 0;
    while (!isClosed) {
      await trigger(server, { name: `${sent}`, channel, data });
      const { data: frame } = await other.event();
      expect(JSON.parse(frame).event).toBe(`${sent}`);
      sent++;
    }
    expect(JSON.parse(await closed)).toMatchObject({ app: APP.id, limitBytes: SEND_BUFFER });
    await until('fanfare_readers', 1);
    expect(await metric('fanfare_slow_connections_closed_total')).toBe(1);
  });
});

describe('a server without room', () => {
  it('sends readers away: by a status, and those of pages by an event', async () => {
    await using small = await startFanfare({ channels: { maxFallbackConnections: 1 } });
    await using first = await EventReader.open(small, target('news'));
    await first.confirmed();
    const url = `http://127.0.0.1:${small.port}${target('news')}`;
    const plain = await fetch(url);
    expect([plain.status, plain.headers.get('retry-after'), await plain.text()]).toEqual([
      503,
      '5',
      'The server has no room for another connection',
    ]);
    await using page = await EventReader.open(small, target('news'), {
      accept: 'text/event-stream',
    });
    expect(await page.next()).toEqual({ retry: '5000' });
    expect(await page.event()).toEqual({
      event: 'pusher',
      data: '{"event":"pusher:error","data":{"code":4100,"message":"Over capacity"}}',
    });
    expect(await page.ended).toBe('ended');
  });

  it('sends an address away that connects too often', async () => {
    await using small = await startFanfare({
      // A minute's worth may come at once.
      channels: { addressLimits: { connectionsPerSecond: 1 } },
    });
    const url = `http://127.0.0.1:${small.port}/apps/${APP.id}/channels/news/stream?key=nobody`;
    let status = 401;
    for (let tries = 0; tries < 200 && status === 401; tries++) status = (await fetch(url)).status;
    expect(status).toBe(429);
    await using page = await EventReader.open(small, target('news'), {
      accept: 'text/event-stream',
    });
    expect((await page.event()).data).toContain('"code":4100');
  });

  it('tells readers that it stops', async () => {
    const stopping = await startFanfare();
    await using reader = await EventReader.open(stopping, target('news'));
    await reader.confirmed();
    const [exitCode, { data }, how] = await Promise.all([
      stopping.stop(),
      reader.event(),
      reader.ended,
    ]);
    expect([exitCode, how]).toEqual([0, 'ended']);
    expect(data).toContain('"code":4100');
    await stopping[Symbol.asyncDispose]();
  });
});
