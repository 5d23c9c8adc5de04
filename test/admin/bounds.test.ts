import { describe, expect, it } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { EventStream, eventText } from '../../src/runtime/event-stream.ts';
import { systemTimers } from '../../src/runtime/system-timers.ts';
import { TrustedProxies } from '../../src/runtime/trusted-proxies.ts';
import { adminBounds } from '../../src/transports/admin/bounds.ts';
import { type AdminListener, listenForAdmin } from '../../src/transports/admin/listener.ts';
import { Readiness } from '../../src/transports/admin/readiness.ts';
import type { AdminRoute } from '../../src/transports/admin/routes.ts';
import { keptLog } from '../../src/webhooks/webhooks.fixture.ts';
import { RawHttp } from '../../testing/clients/raw-http.ts';
import { eventually } from '../../testing/eventually.ts';

const PASSWORD = 'password';
const authorization = `Bearer ${PASSWORD}`;
const JSON_TYPE = { 'content-type': 'application/json' };
const LARGE = `GET /large HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`;

/** A stream that never runs dry. */
class EndlessStream {
  taken = 0;
  readonly stream = new EventStream({
    timers: systemTimers,
    take: () => eventText('number', { n: ++this.taken, filler: 'x'.repeat(65_536) }),
    onClosed: () => undefined,
  });
}

/**
 * Answers with the body; `/slow` calls `begun`, and answers only after the gate opens; `/stream` answers with the
 * stream.
 */
function routesWith(
  gate: Promise<void>,
  begun: () => void,
  { stream }: EndlessStream,
): readonly AdminRoute[] {
  const answer = (body: string) => ({ status: 200, contentType: 'text/plain', body });
  return [
    { method: 'POST', path: '/echo', answer: async ({ body }) => answer(JSON.stringify(body)) },
    { method: 'GET', path: '/large', answer: async () => answer('x'.repeat(20_000_000)) },
    {
      method: 'GET',
      path: '/slow',
      answer: async () => {
        begun();
        await gate;
        return answer('at last');
      },
    },
    {
      method: 'GET',
      path: '/stream',
      answer: async () => ({
        status: 200,
        contentType: 'text/event-stream',
        body: stream.body,
      }),
    },
  ];
}

/** A listener with low bounds, and its refusals. */
async function listening(bounds: Partial<typeof adminBounds> = {}) {
  const refused: string[] = [];
  const log = keptLog();
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const listener: AdminListener = await listenForAdmin({
    host: '127.0.0.1',
    port: 0,
    password: () => PASSWORD,
    metricsAreOpen: true,
    trustedProxies: new TrustedProxies([]),
    readiness: new Readiness(),
    serverName: 'test',
    log,
    onRefused: (why) => refused.push(why),
    bounds: { ...adminBounds, ...bounds },
  });
  const endless = new EndlessStream();
  const routes = routesWith(gate.promise, begun.resolve, endless);
  listener.serve(() => routes);
  const { port } = listener.address;
  return {
    port,
    refused,
    log,
    open: gate.resolve,
    begun: begun.promise,
    endless,
    listener,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

/**
 * A connection from an address of this machine, which has begun a request: the system hands over a silent one only
 * after a second.
 */
async function connectFrom(localAddress: string, port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('connect', resolve);
  socket.once('error', reject);
  await promise;
  socket.write('G');
  return socket;
}

/** Whether a request from an address is answered rather than its connection closed. */
async function answersFrom(localAddress: string, port: number): Promise<boolean> {
  const socket = await connectFrom(localAddress, port);
  socket.write('ET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.once('data', () => resolve(true));
  socket.once('error', () => resolve(false));
  socket.once('close', () => resolve(false));
  const isAnswered = await promise;
  socket.destroy();
  return isAnswered;
}

function closed(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on('error', () => undefined);
  if (socket.destroyed) resolve();
  socket.once('close', () => resolve());
  // It ends with what it has read, too.
  socket.resume();
  return promise;
}

const post = (headers: Readonly<Record<string, string>>, length: number) =>
  [
    'POST /echo HTTP/1.1',
    'Host: 127.0.0.1',
    `Content-Length: ${length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n');

describe('the admin listener reads a body', () => {
  it('only when the password is right', async () => {
    await using server = await listening();
    await using http = await RawHttp.open({ port: server.port });
    const body = '{"a":"b"}';
    http.write(post({ ...JSON_TYPE, expect: '100-continue' }, body.length));
    // Without a 100 before it.
    expect((await http.read()).status).toBe(401);
    await using allowed = await RawHttp.open({ port: server.port });
    allowed.write(post({ ...JSON_TYPE, authorization, expect: '100-continue' }, body.length));
    expect((await allowed.read()).status).toBe(100);
    allowed.write(body);
    expect(await allowed.read()).toMatchObject({ status: 200, body });
  });

  it('of at most 64 KiB, and of a refused one only what its sender needs to read the answer', async () => {
    await using server = await listening({ restMs: 300 });
    for (const headers of [JSON_TYPE, { ...JSON_TYPE, authorization }]) {
      await using http = await RawHttp.open({ port: server.port });
      http.write(post(headers, 1_000_000_000));
      http.write('x'.repeat(100_000));
      expect((await http.read()).status).toBe('authorization' in headers ? 413 : 401);
      await http.untilEnd();
    }
    await using chunked = await RawHttp.open({ port: server.port });
    const chunks = Array.from({ length: 70 }, () => 'x'.repeat(1000));
    const headers = { ...JSON_TYPE, authorization };
    const answer = await chunked.request({ method: 'POST', target: '/echo', headers, chunks });
    expect(answer.status).toBe(413);
    await using most = await RawHttp.open({ port: server.port });
    const body = JSON.stringify('x'.repeat(65_534));
    expect(await most.request({ method: 'POST', target: '/echo', headers, body })).toMatchObject({
      status: 200,
      body,
    });
  });

  it('that comes in time', async () => {
    await using server = await listening({ headMs: 200, requestMs: 300 });
    await using http = await RawHttp.open({ port: server.port });
    http.write(post({ ...JSON_TYPE, authorization }, 1000));
    const dripping = setInterval(() => http.write('x'), 20);
    const { status, body } = await http.read();
    clearInterval(dripping);
    expect([status, body]).toEqual([408, '{"error":"The request was not complete in time"}\n']);
    await http.untilEnd();
    expect(server.refused).toEqual(['too-slow']);
  });

  it('to its end', async () => {
    await using server = await listening();
    await using http = await RawHttp.open({ port: server.port });
    http.write(post({ ...JSON_TYPE, authorization }, 1000));
    http.write('half');
    await http[Symbol.asyncDispose]();
    await using next = await RawHttp.open({ port: server.port });
    expect((await next.request({ method: 'GET', target: '/healthz' })).status).toBe(200);
    expect(server.log.lines.filter((line) => line.startsWith('error'))).toEqual([]);
  });
});

describe('the admin listener ends connections', () => {
  it('that never send the whole head of a request', async () => {
    await using server = await listening({ headMs: 200, requestMs: 300 });
    for (const said of ['', 'GET / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\nHost: x\r\nA: ']) {
      await using http = await RawHttp.open({ port: server.port });
      if (said !== '') http.write(said);
      const dripping = setInterval(() => said !== '' && http.write('x'), 20);
      expect((await http.read()).status).toBe(408);
      clearInterval(dripping);
      await http.untilEnd();
    }
  });

  it('with invalid HTTP or too large a head', async () => {
    await using server = await listening();
    for (const [said, status] of [
      ['\x16\x03\x01\x02\x00\x01\x00', 400],
      ['GET / HTTP/1.1\r\nHost\r\n\r\n', 400],
      [`GET / HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ] as const) {
      await using http = await RawHttp.open({ port: server.port });
      http.write(said);
      expect((await http.read()).status).toBe(status);
      await http.untilEnd();
    }
    await using hostless = await RawHttp.open({ port: server.port });
    hostless.write('GET /healthz HTTP/1.1\r\n\r\n');
    expect((await hostless.read()).status).toBe(400);
    expect(server.refused).toEqual(['not-http', 'not-http', 'not-http']);
  });

  it('that send requests without end', async () => {
    await using server = await listening({ requestRate: { perSecond: 0.001, burst: 20 } });
    await using http = await RawHttp.open({ port: server.port });
    http.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5_000));
    for (let n = 0; n < 20; n++) expect((await http.read()).status).toBe(200);
    expect((await http.read()).status).toBe(429);
    await http.untilEnd();
    expect(server.refused).toEqual(['too-many-requests']);
  });

  it('that do not read their answers', async () => {
    await using server = await listening({ unreadAnswerMs: 300 });
    const socket = await connectFrom('127.0.0.1', server.port);
    socket.pause();
    socket.write(`ET /large HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
    const connections = async () =>
      (await fetch(`http://127.0.0.1:${server.port}/healthz`)).status === 200 && socket.destroyed;
    const gone = Promise.withResolvers<void>();
    socket.on('error', () => gone.resolve());
    socket.once('close', () => gone.resolve());
    // It notices the end when it writes again.
    const writing = setInterval(() => socket.write('GET'), 50);
    await gone.promise;
    clearInterval(writing);
    socket.destroy();
    expect(await connections()).toBe(true);
  });

  it('but not those that do not read a stream: it stays open, and goes on with what is newest', async () => {
    await using server = await listening({ unreadAnswerMs: 1 });
    const { endless } = server;
    const socket = await connectFrom('127.0.0.1', server.port);
    socket.write(`ET /stream HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    // The socket takes no more once a few requests have been answered without a piece of the stream.
    let before = -1;
    while (before !== endless.taken) {
      before = endless.taken;
      for (let n = 0; n < 20; n++) await fetch(`http://127.0.0.1:${server.port}/healthz`);
    }
    endless.taken = 1_000_000;
    const { promise: newest, resolve, reject } = Promise.withResolvers<void>();
    let tail = '';
    socket.on('data', (piece: Buffer) => {
      tail += piece.toString('latin1');
      if (tail.includes('"n":1000001,')) resolve();
      tail = tail.slice(-20);
    });
    socket.once('close', () => reject(new Error('The stream was broken off')));
    socket.resume();
    await newest;
    socket.destroy();
  });

  it('that send further requests and do not read their long answers', async () => {
    await using server = await listening({ requestsPerConnection: 3 });
    await using http = await RawHttp.open({ port: server.port });
    http.pauseReading();
    http.write(LARGE.repeat(10));
    await eventually(
      () => server.refused.length,
      (refused) => refused > 0,
    );
    expect(server.refused).toEqual(['too-many-requests']);
    http.resumeReading();
    await http.untilEnd();
    expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
  });

  it('of the address with the most unread bytes, if there is no more room for answers', async () => {
    await using server = await listening({ unreadBytes: 50_000_000 });
    const asks = async (from: string) => {
      const http = await RawHttp.open({ port: server.port }, { from });
      http.write(LARGE);
      await http.untilBytes();
      http.pauseReading();
      return http;
    };
    await using first = await asks('127.0.0.2');
    await using second = await asks('127.0.0.2');
    await using refused = await RawHttp.open({ port: server.port }, { from: '127.0.0.2' });
    refused.write(LARGE);
    expect((await refused.read()).status).toBe(503);
    const other = await fetch(`http://127.0.0.1:${server.port}/large`, {
      headers: { authorization },
    });
    expect(await other.text()).toHaveLength(20_000_000);
    expect(server.refused).toEqual(['unread', 'unread']);
    first.resumeReading();
    await first.untilEnd();
    expect(second.ended).toBe(false);
  });

  it('of one address that has too many', async () => {
    await using server = await listening({ connectionsPerAddress: 3 });
    const open: Socket[] = [];
    for (let n = 0; n < 3; n++) open.push(await connectFrom('127.0.0.2', server.port));
    await closed(await connectFrom('127.0.0.2', server.port));
    expect(server.refused).toEqual(['too-many-connections']);
    await using other = await RawHttp.open({ port: server.port });
    expect((await other.request({ method: 'GET', target: '/healthz' })).status).toBe(200);
    open[0]?.destroy();
    // There is room for another once the server has noticed the end of one.
    while (!(await answersFrom('127.0.0.2', server.port)));
    for (const socket of open) socket.destroy();
  });

  it('of the address with most, so that others can connect at the limit', async () => {
    await using server = await listening({ connections: 6, connectionsPerAddress: 5 });
    const many: Socket[] = [];
    for (let n = 0; n < 5; n++) many.push(await connectFrom('127.0.0.2', server.port));
    const few = await connectFrom('127.0.0.3', server.port);
    await using honest = await RawHttp.open({ port: server.port });
    expect((await honest.request({ method: 'GET', target: '/healthz' })).status).toBe(200);
    await closed(many[0] ?? few);
    expect(few.destroyed).toBe(false);
    for (const socket of [...many, few]) socket.destroy();
  });
});

it('the admin listener admits a new address, however many addresses have a connection', async () => {
  await using server = await listening({ connections: 3 });
  const open: Socket[] = [];
  for (let n = 2; n < 5; n++) open.push(await connectFrom(`127.0.0.${n}`, server.port));
  expect(await answersFrom('127.0.0.9', server.port)).toBe(true);
  await closed(open[0] as Socket);
  for (const socket of open) socket.destroy();
});

it('the admin listener limits the requests in flight of one address', async () => {
  await using server = await listening({ requestsPerAddress: 3 });
  const ask = (target: string) =>
    fetch(`http://127.0.0.1:${server.port}${target}`, { headers: { authorization } });
  const slow = [1, 2, 3].map(() => ask('/slow'));
  // One of them is answered only while there is no room for a fourth.
  let refused: Response;
  do refused = await ask('/healthz');
  while (refused.status === 200);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  await using other = await RawHttp.open({ port: server.port });
  const via = { via: '1.1 proxy' };
  expect((await other.request({ method: 'GET', target: '/healthz', headers: via })).status).toBe(
    200,
  );
  server.open();
  for (const answer of await Promise.all(slow)) expect(await answer.text()).toBe('at last');
  expect((await ask('/healthz')).status).toBe(200);
});

it('the admin listener answers the requests in progress when it stops, and closes their connections', async () => {
  await using server = await listening();
  await using slow = await RawHttp.open({ port: server.port });
  slow.sendRequest({ method: 'GET', target: '/slow', headers: { authorization } });
  await server.begun;

  server.listener.drain();
  const stopped = server.listener.stopServing();
  const late = await fetch(`http://127.0.0.1:${server.port}/slow`, { headers: { authorization } });
  expect([late.status, late.headers.get('connection')]).toEqual([503, 'close']);
  expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
  server.open();
  await stopped;

  const answer = await slow.read();
  expect([answer.status, answer.body, answer.headers.get('connection')]).toEqual([
    200,
    'at last',
    'close',
  ]);
  await slow.untilEnd();
});

it('the admin listener limits the rate of one address', async () => {
  await using server = await listening({ requestRate: { perSecond: 0.001, burst: 3 } });
  const ask = (headers: Readonly<Record<string, string>> = {}) =>
    fetch(`http://127.0.0.1:${server.port}/healthz`, { headers });
  for (let n = 0; n < 3; n++) expect((await ask()).status).toBe(200);
  const refused = await ask();
  expect([refused.status, refused.headers.get('connection')]).toEqual([429, 'close']);
  // A request through a proxy counts for another client.
  expect((await ask({ via: '1.1 proxy' })).status).toBe(200);
});

it('the admin listener closes all its connections when it stops', async () => {
  const server = await listening();
  const idle = await connectFrom('127.0.0.1', server.port);
  const half = await connectFrom('127.0.0.1', server.port);
  half.write(`ET /slow HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
  // Both were accepted before this one is answered.
  expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
  const ended = Promise.all([closed(idle), closed(half)]);
  await server[Symbol.asyncDispose]();
  await ended;
});
