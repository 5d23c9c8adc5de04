import { expect, it } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { TrustedProxies } from '../../src/runtime/trusted-proxies.ts';
import { adminBounds } from '../../src/transports/admin/bounds.ts';
import { listenForAdmin } from '../../src/transports/admin/listener.ts';
import { Readiness } from '../../src/transports/admin/readiness.ts';
import type { AdminRoute } from '../../src/transports/admin/routes.ts';
import { keptLog } from '../../src/webhooks/webhooks.fixture.ts';
import { RawHttp } from '../../testing/clients/raw-http.ts';
import { eventually } from '../../testing/eventually.ts';

const authorization = 'Bearer password';

/** The megabytes of `/large`. */
const PARTS_MAX = 100;

/** A listener whose `/stream` gives what the test writes, and whose `/large` is longer than anything buffers. */
async function listening(bounds: Partial<typeof adminBounds> = {}) {
  let password = 'password';
  const listener = await listenForAdmin({
    host: '127.0.0.1',
    port: 0,
    password: () => password,
    metricsAreOpen: true,
    trustedProxies: new TrustedProxies([]),
    readiness: new Readiness(),
    serverName: 'test',
    log: keptLog(),
    onRefused: () => undefined,
    bounds: { ...adminBounds, ...bounds },
  });
  const cancelled = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<unknown>();
  let writer: ReadableStreamDefaultController<Uint8Array> | undefined;
  let parts = 0;
  const part = new Uint8Array(1_000_000);
  const routes: readonly AdminRoute[] = [
    {
      method: 'GET',
      path: '/large',
      answer: async () => {
        const body = new ReadableStream<Uint8Array>({
          pull(controller) {
            parts++;
            if (parts > PARTS_MAX) controller.close();
            else controller.enqueue(part);
          },
          cancel: () => cancelled.resolve(),
        });
        return { status: 200, contentType: 'text/plain', body };
      },
    },
    {
      method: 'GET',
      path: '/stream',
      answer: async ({ signal }) => {
        signal.addEventListener('abort', () => aborted.resolve(signal.reason));
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            writer = controller;
            asked.resolve();
          },
          cancel: () => cancelled.resolve(),
        });
        return { status: 200, contentType: 'text/event-stream', body };
      },
    },
  ];
  listener.serve(() => routes);
  return {
    url: `http://127.0.0.1:${listener.address.port}/stream`,
    port: listener.address.port,
    cancelled: cancelled.promise,
    aborted: aborted.promise,
    asked: asked.promise,
    write: (text: string) => writer?.enqueue(new TextEncoder().encode(text)),
    end: () => writer?.close(),
    fail: () => writer?.error(new Error('broken')),
    /** How many parts of `/large` were read. */
    parts: () => parts,
    changePassword(to: string) {
      password = to;
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

it('sends each part of a stream at once, and its end', async () => {
  await using server = await listening();
  const response = await fetch(server.url, { headers: { authorization } });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('content-length')).toBeNull();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (const text of ['one', 'two']) {
    server.write(text);
    expect(await reader?.read()).toEqual({ done: false, value: text });
  }
  server.end();
  expect(await reader?.read()).toMatchObject({ done: true });
});

it('ends a stream whose client has gone', async () => {
  await using server = await listening();
  const client = new AbortController();
  await fetch(server.url, { headers: { authorization }, signal: client.signal });
  client.abort();
  await server.cancelled;
  await server.aborted;
});

it('breaks the connection of a stream that fails', async () => {
  await using server = await listening();
  const response = await fetch(server.url, { headers: { authorization } });
  server.fail();
  await expect(response.text()).rejects.toThrow();
  await server.aborted;
});

/** Asks for a path, and reads nothing of the answer. */
function askDeaf(port: number, path: string): Socket {
  const socket = connect({ host: '127.0.0.1', port });
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  return socket;
}

it('reads a stream no faster than its client', async () => {
  await using server = await listening();
  const socket = askDeaf(server.port, '/large');
  // The system buffers a few megabytes for a connection.
  await eventually(
    () => server.parts(),
    (parts) => parts > 1,
  );
  for (let n = 0; n < 20; n++) await fetch(`http://127.0.0.1:${server.port}/healthz`);
  expect(server.parts()).toBeLessThan(PARTS_MAX / 2);
  socket.destroy();
  await server.cancelled;
});

it('cuts off a client that reads nothing of a stream that has ended', async () => {
  await using server = await listening({ unreadAnswerMs: 300 });
  const socket = askDeaf(server.port, '/stream');
  await server.asked;
  server.write('x'.repeat(20_000_000));
  server.end();
  await server.aborted;
  socket.destroy();
});

it('notifies a stream when its client loses access', async () => {
  await using server = await listening({ accessMs: 20 });
  const response = await fetch(server.url, { headers: { authorization } });
  server.changePassword('another');
  expect(await server.aborted).toBe('session-over');
  server.write('the end');
  server.end();
  expect(await response.text()).toBe('the end');
});

it('answers HEAD with the head of a stream, and ends the stream', async () => {
  await using server = await listening();
  await using connection = await RawHttp.open(server);
  const asks = (method: string, target: string) =>
    connection.request({ method, target, headers: { authorization } });

  const { status, headers, body } = await asks('HEAD', '/stream');
  expect([status, body, headers.get('x-accel-buffering')]).toEqual([200, '', 'no']);
  await server.cancelled;
  // The connection is ready for the next request.
  const get = await asks('GET', '/healthz');
  const head = await asks('HEAD', '/healthz');
  expect(head).toMatchObject({ status: 200, body: '' });
  expect([...head.headers]).toEqual([...get.headers]);
});
