import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { RawHttp, requestBytes } from '../../testing/clients/raw-http.ts';
import {
  messagesOf,
  RECEIVE_QUERY,
  SessionRequests,
} from '../../testing/clients/session-requests.ts';
import { api, signedTarget, trigger } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Clients that do not read what they asked for. What the kernel takes for them is up to about 3 MB on loopback. */

const LOUD = { id: 'loud', keys: [{ key: 'loud-key', secret: 'loud-secret' }] };
const MIB = 1_048_576;
const HISTORY = [{ channels: 'kept-*', bytes: 8 * MIB }];
const BUFFER_BYTES = 6 * MIB;
/** What may wait for all clients. */
const WAITING_BYTES = 16 * MIB;
/** What all unread answers may take: two of the events below. */
const UNREAD_BYTES = 16 * MIB;
const EVENT_BYTES = 6 * MIB;

let server: Fanfare;
let honest: RawClient;
beforeAll(async () => {
  server = await startFanfare({
    // What is bounded for each thread or server is easier to reach on one.
    threads: 1,
    onlyOne: 'address-limits',
    channels: {
      sendBufferBytes: BUFFER_BYTES,
      waitingBytes: WAITING_BYTES,
      requestBytes: 8 * MIB,
      unfinishedBytes: UNREAD_BYTES,
    },
    app: { history: HISTORY, limits: { eventDataBytes: EVENT_BYTES } },
    moreApps: [{ ...LOUD, history: HISTORY, limits: { eventDataBytes: EVENT_BYTES } }],
  });
  honest = await RawClient.connect(server, { transport: 'ws' });
  await honest.subscribe('mine');
});
afterAll(async () => {
  await honest[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function publish(channel: string, name: string, bytes = 0): Promise<void> {
  const body = JSON.stringify({ name, channel, data: 'x'.repeat(bytes) });
  const answer = await api(server, 'POST', '/apps/loud/events', { body, ...LOUD.keys[0] });
  expect(answer.status).toBe(200);
}

/** A session that has no receive request while 5 MB wait for it. */
async function behind(channel: string): Promise<SessionRequests> {
  const session = new SessionRequests(server, { key: 'loud-key' });
  await session.pollOpen();
  const confirmed = session.poll();
  await session.send({ event: 'pusher:subscribe', data: { channel } });
  await confirmed;
  for (let n = 0; n < 5; n++) await publish(channel, 'long', MIB - 1000);
  return session;
}

/** A receive request on a connection of its own, whose client reads the first bytes of the answer and nothing more. */
async function unread(session: SessionRequests, kind: string): Promise<RawHttp> {
  const connection = await RawHttp.open(server);
  const { pathname } = new URL(session.base);
  const target = `${pathname}/${kind}?${RECEIVE_QUERY}&n=${session.skip()}`;
  connection.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
  await connection.untilBytes();
  connection.pauseReading();
  return connection;
}

async function expectServed(): Promise<void> {
  await trigger(server, { name: 'e', channel: 'mine', data: 'still here' });
  expect(await honest.receive()).toMatchObject({ event: 'e', data: 'still here' });
}

describe('a client over HTTP that does not read', () => {
  it.each(['xhr', 'xhr_streaming'])('its %s gets nothing more until it does', async (kind) => {
    const session = await behind(kind);
    await using first = await unread(session, kind);
    const second = session.poll();
    let isAnswered = false;
    void second.then(() => {
      isAnswered = true;
    });
    await publish(kind, 'after');
    // By then, an answer would have arrived.
    for (let n = 0; n < 5; n++) await expectServed();
    expect(isAnswered).toBe(false);
    first.resumeReading();
    expect(messagesOf((await second).text).map(({ event }) => event)).toEqual(['after']);
  });

  it('is counted with all others: those of its app end', async () => {
    const closed = server.logsNext(/read too slowly.*"app":"loud"/);
    await using connections = new AsyncDisposableStack();
    for (let n = 0; n < 12; n++) {
      const session = await behind(`unread-${n}`);
      connections.use(await unread(session, n % 2 === 0 ? 'xhr' : 'xhr_streaming'));
    }
    await closed;
    const { text } = await admin(server, 'GET', '//metrics');
    expect(text).toMatch(/^fanfare_slow_connections_closed_total [1-9]/m);
    await expectServed();
  });
});

describe('a backend that does not read', () => {
  const PAGE = '/apps/loud/channels/kept-x/history';

  async function asks(path: string): Promise<RawHttp> {
    const connection = await RawHttp.open(server);
    connection.sendRequest({ method: 'GET', target: signedTarget('GET', path, LOUD.keys[0]) });
    await connection.untilBytes();
    connection.pauseReading();
    return connection;
  }

  it('long answers: its own are refused and broken off, and other apps get theirs', async () => {
    await publish('kept-x', 'e', EVENT_BYTES - 1000);
    await trigger(server, { name: 'e', channel: 'kept-y', data: 'x'.repeat(EVENT_BYTES - 1000) });
    await using first = await asks(PAGE);
    await using second = await asks(PAGE);
    const refused = await api(server, 'GET', PAGE, LOUD.keys[0]);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    const { text } = await admin(server, 'GET', '//metrics');
    const [, bytes] = /^fanfare_unread_answer_bytes (\d+)/m.exec(text) ?? [];
    expect(Number(bytes)).toBeGreaterThan(2 * (EVENT_BYTES - 1000));
    expect(Number(bytes)).toBeLessThan(UNREAD_BYTES);

    const short = await api(server, 'GET', '/apps/loud/channels', LOUD.keys[0]);
    expect(short.status).toBe(200);
    const broken = server.logsNext(/Answer broken off.*"app":"loud"/);
    const page = await api(server, 'GET', '/apps/3/channels/kept-y/history');
    expect((await page.text()).length).toBeGreaterThan(EVENT_BYTES - 1000);
    await broken;
    first.resumeReading();
    await first.untilEnd();
    expect(second.ended).toBe(false);
    await expectServed();
  });
});

describe('an operator who does not read', () => {
  it('answers and sends further requests: the connection is closed', async () => {
    await using connection = await RawHttp.open({ port: server.adminPort });
    connection.pauseReading();
    const request = requestBytes({
      method: 'GET',
      target: '/api/v1/openapi.json',
      headers: { authorization: `Bearer ${server.adminPassword}` },
    });
    connection.write(Buffer.concat(Array<Uint8Array>(500).fill(request)));
    await eventually(
      () => admin(server, 'GET', '//metrics'),
      ({ text }) => /^fanfare_admin_requests_refused_total{why="too-many-requests"} 1$/m.test(text),
    );
    connection.resumeReading();
    await connection.untilEnd();
    await expectServed();
  });
});
