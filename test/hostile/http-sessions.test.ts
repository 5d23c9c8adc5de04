import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { chunkBytes, RawHttp } from '../../testing/clients/raw-http.ts';
import {
  RECEIVE_QUERY,
  SessionRequests,
  type StreamedLines,
} from '../../testing/clients/session-requests.ts';
import { api, trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { attack, expectCalm, pingDuring } from './neighbour.ts';

/**
 * Strangers who know the key of one app, or none, beside clients of another app and of other addresses. Source: HTTP
 * transports, §14.
 */

const LOUD = { id: 'loud', keys: [{ key: 'loud-key', secret: 'loud-secret' }] };
const SECONDS = 0.6;
/** Of one address. The burst is a minute's worth. */
const CONNECTIONS_PER_SECOND = 20;
const CONNECTIONS_AT_ONCE = 60 * CONNECTIONS_PER_SECOND;
const FRAME_BYTES = 65_536;
/** One body that is announced, and what all of them may take: seven, and a little. */
const BODY_BYTES = 2 * FRAME_BYTES;
const UNFINISHED_BYTES = 7 * BODY_BYTES + 1000;
/** What may wait for all clients. */
const WAITING_BYTES = 8_000_000;
const BUFFER_BYTES = 2_000_000;

let server: Fanfare;
let honest: RawClient;
let session: SessionRequests;
let stream: StreamedLines;
beforeAll(async () => {
  server = await startFanfare({
    // What is bounded for each thread or server is easier to reach on one.
    threads: 1,
    onlyOne: 'address-limits',
    config: { trustedProxies: ['127.0.0.0/8'] },
    app: { limits: { eventDataBytes: 1_000_000 } },
    channels: {
      addressLimits: { connectionsPerSecond: CONNECTIONS_PER_SECOND },
      maxFallbackConnections: 20,
      unfinishedBytes: UNFINISHED_BYTES,
      waitingBytes: WAITING_BYTES,
      sendBufferBytes: BUFFER_BYTES,
    },
    moreApps: [{ ...LOUD, limits: { eventDataBytes: 1_000_000 } }],
  });
  honest = await RawClient.connect(server, { transport: 'ws' });
  await honest.subscribe('mine');
  session = new SessionRequests(server);
  stream = await session.stream();
  await stream.opens();
  await session.send(subscribe('mine'));
  await stream.messages();
});
afterAll(async () => {
  stream[Symbol.dispose]();
  await honest[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const subscribe = (channel: string) => ({ event: 'pusher:subscribe', data: { channel } });

/** The path of a session of the loud app. */
const loud = (name: string, end: string) =>
  `/pusher/app/loud-key/1/${name}/${end}?${RECEIVE_QUERY}&n={n}`;

const strike = (path: string, address: string, more: object = {}) =>
  pingDuring(server, honest, () =>
    attack<{ statuses: Record<string, number> }>('posts', {
      port: server.port,
      seconds: SECONDS,
      path,
      address,
      ...more,
    }),
  );

/** Strikes for longer and longer until the server has logged what it does about it, which takes a busy machine longer. */
async function strikeUntil(
  pattern: RegExp,
  path: string,
  address: string,
  more: object = {},
): Promise<void> {
  for (let seconds = SECONDS; ; seconds *= 2) {
    const pinged = await strike(path, address, { ...more, seconds });
    expectCalm(pinged);
    if (pattern.test(server.output.stderr)) return;
  }
}

const connectionOf = async (address: string) => {
  const connection = await RawHttp.open(server);
  const posts = (target: string, framing = 'Content-Length: 0\r\n\r\n') =>
    connection.write(
      `POST ${target} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n${framing}`,
    );
  return Object.assign(connection, { posts });
};

async function figure(name: string): Promise<number> {
  const { text } = await admin(server, 'GET', '//metrics');
  return Number(new RegExp(`^${name}(?:{.*})? (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

/** Both clients of the other app still get what is published. */
async function expectServed(): Promise<void> {
  await trigger(server, { name: 'e', channel: 'mine', data: 'still here' });
  expect(await honest.receive()).toMatchObject({ event: 'e', data: 'still here' });
  let received = await stream.messages();
  while (received.length === 0) received = await stream.messages();
  expect(received).toMatchObject([{ event: 'e', data: 'still here' }]);
}

describe('clients of another app and address are served as usual while a stranger', () => {
  it('opens sessions and never polls again: they are no connections', async () => {
    const before = await figure('fanfare_connections');
    const pinged = await strike(loud('{new}', 'xhr'), '192.0.2.1');
    expectCalm(pinged);
    expect(pinged.result.statuses['200']).toBeGreaterThan(10);
    expect(await figure('fanfare_connections')).toBe(before);
    await expectServed();
  });

  it('opens one stream after the other: it is refused beyond the limit', async () => {
    await strikeUntil(
      /Connection refused.*"app":"loud","address":"192\.0\.2\.2","code":4100/,
      loud('{new}', 'xhr_streaming'),
      '192.0.2.2',
      { connections: 100 },
    );
    expect(await figure('fanfare_fallback_connections')).toBeLessThanOrEqual(20);
    await expectServed();
  });

  it('guesses the paths of sessions: it gets 429, is counted and logged', async () => {
    const logged = server.logsNext(/connects or sends too often.*"address":"192\.0\.2\.3"/);
    const pinged = await strike(
      '/pusher/app/278d425bdf160c739803/{n}/{new}/xhr_send',
      '192.0.2.3',
      // More than are allowed, on a slow machine as well.
      { body: '[]', requests: 3 * CONNECTIONS_AT_ONCE },
    );
    expectCalm(pinged);
    await logged;
    const { statuses } = pinged.result;
    expect(Object.keys(statuses).filter((status) => !/404|429/.test(status))).toEqual([]);
    expect(statuses['429']).toBeGreaterThan(0);
    expect(await figure('fanfare_fallback_unknown_sessions_total')).toBeGreaterThan(
      CONNECTIONS_AT_ONCE,
    );
    expect(server.output.stderr).not.toContain('xhr_send');
    // The address of another stranger is not stopped.
    await using other = await connectionOf('192.0.2.4');
    other.posts(loud('other', 'xhr'));
    expect((await other.read('POST')).body).toBe('o\n');
    await expectServed();
  });

  it('lets receive requests of a session replace each other: it is closed with 1008', async () => {
    await strikeUntil(
      /went on sending too many frames.*"address":"192\.0\.2\.5"/,
      loud('same', 'xhr'),
      '192.0.2.5',
      { connections: 16 },
    );
    await expectServed();
  });

  it('sends thousands of messages out of order', async () => {
    await using connection = await connectionOf('192.0.2.6');
    connection.posts(loud('gaps', 'xhr_streaming').replace('{n}', '1'));
    await eventually(
      () => admin(server, 'GET', '//metrics'),
      ({ text }) => /opened_total{transport="xhr_streaming"} [1-9]/.test(text),
    );
    const pinged = await strike('/pusher/app/loud-key/1/gaps/xhr_send?n={n}', '192.0.2.6', {
      body: JSON.stringify(['{"event":"pusher:ping"}']),
      step: 3,
    });
    expectCalm(pinged);
    expect(pinged.result.statuses['204']).toBeGreaterThan(10);
    await expectServed();
  });
});

describe('clients of the same app at other addresses are served as usual while a stranger', () => {
  it('sends bodies that never end: its own are refused, and their sessions end', async () => {
    await using slow = new AsyncDisposableStack();
    for (let n = 0; n < 14; n++) {
      const one = new SessionRequests(server);
      await slow.use(await one.stream()).opens();
      const { pathname } = new URL(one.base);
      const sending = slow.use(await connectionOf('192.0.2.7'));
      sending.posts(`${pathname}/xhr_send?n=2`, `Content-Length: ${BODY_BYTES}\r\n\r\n[`);
    }
    await server.logged(/did not arrive in full/);
    // Of an unknown length, so that memory is reserved for each part of it.
    await using connection = await connectionOf('192.0.2.8');
    const { pathname } = new URL(session.base);
    const number = session.skip();
    connection.posts(`${pathname}/xhr_send?n=${number}`, 'Transfer-Encoding: chunked\r\n\r\n');
    const ping = { event: 'pusher:ping', data: { text: 'x'.repeat(2000) } };
    connection.write(chunkBytes(JSON.stringify([JSON.stringify(ping)])));
    connection.write('0\r\n\r\n');
    expect((await connection.read('POST')).status).toBe(204);
    expect(await stream.messages()).toMatchObject([{ event: 'pusher:pong' }]);
    await expectServed();
  });
});

describe('a client whose message does not arrive in full', () => {
  it.each([
    ['breaks off', 'Content-Length: 50\r\n\r\n["{'],
    ['breaks off in a chunk', 'Transfer-Encoding: chunked\r\n\r\n10\r\n["{'],
    ['has chunks that are none', 'Transfer-Encoding: chunked\r\n\r\n4\r\n["{}zz\r\n'],
  ])('since its request %s begins anew', async (_, framing) => {
    const broken = new SessionRequests(server);
    using lines = await broken.stream();
    await lines.opens();
    const { pathname } = new URL(broken.base);
    await using connection = await connectionOf('192.0.2.9');
    connection.posts(`${pathname}/xhr_send?n=2`, framing);
    connection.endWriting();
    let line = await lines.line();
    while (!line.startsWith('c')) line = await lines.line();
    expect(line).toStartWith('c[4100,"A message did not arrive in full');
    await lines.ended();
  });
});

describe('what waits for all clients', () => {
  it('is bounded for sessions that nobody polls: those of the app with most end', async () => {
    const idle: SessionRequests[] = [];
    for (let n = 0; n < 12; n++) {
      const one = new SessionRequests(server, { key: 'loud-key' });
      await one.pollOpen();
      const confirmed = one.poll();
      await one.send(subscribe('shared'));
      await confirmed;
      idle.push(one);
    }
    const closed = server.logsNext(/read too slowly.*"app":"loud"/);
    // Each may have more waiting than this, but not all.
    for (let n = 0; n < 3; n++) {
      const body = JSON.stringify({ name: 'e', channel: 'shared', data: 'x'.repeat(500_000) });
      const published = await api(server, 'POST', '/apps/loud/events', { body, ...LOUD.keys[0] });
      expect(published.status).toBe(200);
    }
    await closed;
    const first = await Promise.all(idle.map(async (one) => (await one.poll()).text.slice(0, 2)));
    expect(first).toContain('o\n');
    await expectServed();
  });
});
