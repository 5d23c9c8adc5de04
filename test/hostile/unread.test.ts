import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { RawHttp } from '../../testing/clients/raw-http.ts';
import {
  messagesOf,
  RECEIVE_QUERY,
  SessionRequests,
} from '../../testing/clients/session-requests.ts';
import { api, trigger } from '../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Clients that do not read what they asked for. What the kernel takes for them is up to about 3 MB on loopback. */

const LOUD = { id: 'loud', keys: [{ key: 'loud-key', secret: 'loud-secret' }] };
const MIB = 1_048_576;
const BUFFER_BYTES = 6 * MIB;
/** What may wait for all clients. */
const WAITING_BYTES = 16 * MIB;

let server: Fanfare;
let honest: RawClient;
beforeAll(async () => {
  server = await startFanfare({
    // What is bounded for each thread or server is easier to reach on one.
    threads: 1,
    onlyOne: 'address-limits',
    channels: { sendBufferBytes: BUFFER_BYTES, waitingBytes: WAITING_BYTES },
    moreApps: [{ ...LOUD, limits: { eventDataBytes: MIB } }],
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
