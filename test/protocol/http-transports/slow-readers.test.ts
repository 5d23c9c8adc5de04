import { afterAll, beforeAll, expect, it } from 'bun:test';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { RECEIVE_QUERY, SessionRequests } from '../../../testing/clients/session-requests.ts';
import { trigger } from '../../../testing/clients/sign.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { channels, fresh } from '../websocket/conversation.ts';
import { subscribe } from './opened.ts';

/** Source: HTTP transports, §14.5. */

const BUFFER_BYTES = 100_000;

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: { limits: { eventDataBytes: 1_000_000 } },
    channels: { sendBufferBytes: BUFFER_BYTES },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** A stream whose client reads the head of the response and nothing more. */
async function deafStream(
  session: SessionRequests,
): Promise<{ end(): void; closed: Promise<void> }> {
  const closed = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const { pathname } = new URL(session.base);
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port,
    socket: {
      data(to, bytes) {
        if (!bytes.includes('connection_established')) return;
        to.pause();
        opened.resolve();
      },
      close: () => closed.resolve(),
    },
  });
  socket.write(
    `POST ${pathname}/xhr_streaming?${RECEIVE_QUERY}&n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
  );
  await opened.promise;
  return {
    end: () => void socket.terminate(),
    closed: closed.promise,
  };
}

it('ends a stream that does not read, and nobody else misses anything', async () => {
  const session = new SessionRequests(server);
  const deaf = await deafStream(session);
  const channel = fresh();
  session.skip();
  await session.send(subscribe(channel));
  await using reader = await RawClient.connect(server);
  await reader.subscribe(channel);
  const closed = server.logsNext(/read too slowly/);

  // Less than its limit for one client, and more than what the kernel takes for it.
  const data = 'x'.repeat(BUFFER_BYTES / 2);
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  for (let n = 0; !isClosed; n++) {
    await trigger(server, { name: `${n}`, channel, data });
    expect((await reader.receive()).event).toBe(`${n}`);
  }
  expect(await closed).toContain('"limitBytes":100000');
  expect(await session.send()).toBe(404);
  deaf.end();
});

it('ends a session that nobody asks for and that has too much waiting', async () => {
  const session = new SessionRequests(server);
  await session.pollOpen();
  const channel = fresh();
  const confirmed = session.poll();
  await session.send(subscribe(channel));
  await confirmed;
  const closed = server.logsNext(/read too slowly/);
  const data = 'x'.repeat(BUFFER_BYTES - 1000);
  await trigger(server, { name: 'first', channel, data });
  await trigger(server, { name: 'second', channel, data });
  await closed;
  await eventually(
    () => channels(server),
    (occupied) => !(channel in occupied),
  );
  // The client learns that it has missed something.
  expect((await session.poll()).text).toBe('o\n');
});
