import { describe, expect, it } from 'bun:test';
import { TrustedProxies } from '../../../../src/runtime/trusted-proxies.ts';
import type { PushAnswer } from '../../../../src/transports/push-api/call.ts';
import { PushListener } from '../../../../src/transports/push-api/listener.ts';
import { RawHttp } from '../../../../testing/clients/raw-http.ts';
import { openListener } from './open-listener.ts';
import { closed, DEVICE, INTERESTS, publish, refused, until } from './requests-and-refusals.ts';

describe('connections', () => {
  it('serve many requests, also pipelined, in order', async () => {
    await using server = await openListener({
      endpoints: {
        readDevice: {
          async answer({ query }) {
            const at = query.get('at');
            // Some answers are ready at once.
            if (Number(at) % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
            return { json: `"${at}"` };
          },
        },
      },
    });
    await using connection = await RawHttp.open(server);
    for (const _ of [1, 2]) {
      for (let at = 0; at < 20; at++) {
        connection.sendRequest({ method: 'GET', target: `${DEVICE}?at=${at}` });
      }
      for (let at = 0; at < 20; at++) expect((await connection.read()).body).toBe(`"${at}"\n`);
    }
  });

  it('begin a request only when the one before it is answered', async () => {
    const gates: PromiseWithResolvers<PushAnswer>[] = [];
    await using server = await openListener({
      endpoints: {
        readDevice: {
          answer() {
            const gate = Promise.withResolvers<PushAnswer>();
            gates.push(gate);
            return gate.promise;
          },
        },
      },
    });
    await using connection = await RawHttp.open(server);
    await using other = await RawHttp.open(server);
    for (let at = 1; at <= 3; at++) connection.sendRequest({ method: 'GET', target: DEVICE });
    for (let at = 1; at <= 3; at++) {
      await until(() => gates.length === at);
      expect((await other.request(publish(5))).status).toBe(200);
      expect([gates.length, server.underWay()]).toEqual([at, 1]);
      gates.at(-1)?.resolve({ json: String(at) });
      expect((await connection.read()).body).toBe(`${at}\n`);
    }
  });

  it('answer HEAD without a body, and end after HTTP/1.0 and after Connection: close', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.write('HEAD / HTTP/1.1\r\nHost: x\r\n\r\n\r\n');
    connection.write(`GET ${DEVICE} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const all = await connection.readToEnd();
    expect(all.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200']);
    expect(all.match(/\r\n\r\n(.)/g)).toHaveLength(2);
    await using old = await RawHttp.open(server);
    old.write(`GET ${DEVICE} HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n`);
    expect(await old.readToEnd()).toMatch(/^HTTP\/1.1 200 OK\r\n(?!.*404)/s);
  });

  it('end with too much that is sent before the answer', async () => {
    await using server = await openListener({
      endpoints: { readDevice: { answer: () => new Promise(() => undefined) } },
    });
    await using connection = await RawHttp.open(server);
    const request = `GET ${DEVICE} HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(900)}\r\n\r\n`;
    connection.write(request.repeat(20));
    expect(await connection.readToEnd()).toBe('');
    expect(server.lines).toEqual([closed('too many requests without an answer')]);
  });

  it.each([
    ['their answers', 100, 'keep-alive'],
    ['the last answer', 1, 'close'],
  ])('end when the client does not read %s', async (_, requests, connects) => {
    // More than the socket buffers of the system hold: 4 MB, or 37 MB if they may grow to 4 and 32 MiB.
    const bytes = 40_000_000;
    await using server = await openListener({
      bounds: { unreadAnswerMs: 200 },
      endpoints: {
        readDevice: { answer: () => ({ json: JSON.stringify('x'.repeat(bytes / requests)) }) },
      },
    });
    await using connection = await RawHttp.open(server);
    connection.pauseReading();
    const request = `GET ${DEVICE} HTTP/1.1\r\nHost: x\r\nConnection: ${connects}\r\n\r\n`;
    connection.write(request.repeat(requests));
    await until(() => server.lines.length > 0);
    // The end is seen once what came before it is read.
    connection.resumeReading();
    await connection.untilEnd();
    expect(server.lines).toEqual([closed('the client does not read its answers')]);
  });

  it('end when unread answers fill the memory for answers', async () => {
    await using server = await openListener({
      bounds: { heldBytes: 1_000_000 },
      endpoints: {
        // More than the socket buffers of the system hold.
        readDevice: { answer: () => ({ json: JSON.stringify('x'.repeat(40_000_000)) }) },
      },
    });
    await using connection = await RawHttp.open(server);
    connection.pauseReading();
    connection.sendRequest({ method: 'GET', target: DEVICE });
    await until(() => server.lines.length > 0);
    // The end is seen once what came before it is read.
    connection.resumeReading();
    await connection.untilEnd();
    expect(server.lines).toEqual([closed('unread answers fill the memory reserved for them')]);
  });

  it('get 503 while too many requests are in flight, or their bodies are too large together', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    await using server = await openListener({
      bounds: { requests: 2, heldBytes: 200_000 },
      endpoints: { readDevice: { answer: () => gate.promise } },
    });
    await using waiting = await RawHttp.open(server);
    await using second = await RawHttp.open(server);
    await using other = await RawHttp.open(server);
    waiting.sendRequest({ method: 'GET', target: DEVICE });
    second.sendRequest({ method: 'GET', target: DEVICE });
    let answer = await other.request(publish(5));
    while (answer.status === 200) answer = await other.request(publish(5));
    expect(refused(answer)).toEqual([
      503,
      'Service Unavailable',
      'Server is overloaded, try again',
    ]);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('connection')).toBe('close');
    await other.untilEnd();
    gate.resolve({ json: '{}' });
    await waiting.read();
    await second.read();
    await using next = await RawHttp.open(server);
    expect((await next.request(publish(5))).status).toBe(200);

    const body = 'x'.repeat(200_001);
    const large = await next.request({ method: 'PUT', target: `${DEVICE}/interests`, body });
    expect(refused(large)[0]).toBe(503);
    expect(large.headers.get('connection')).toBe('close');
    expect((await waiting.request(publish(5))).status).toBe(200);
  });

  it('that are cut off leave nothing behind', async () => {
    await using server = await openListener({ bounds: { requests: 3, heldBytes: 10_000 } });
    for (let at = 0; at < 30; at++) {
      await using connection = await RawHttp.open(server);
      connection.sendRequest(publish(500));
      expect((await connection.read()).status).toBe(200);
      connection.write(
        `POST ${at % 2 === 0 ? INTERESTS : '/'} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n${'x'.repeat(5000)}`,
      );
    }
    await using connection = await RawHttp.open(server);
    // The last of them may take one turn of the loop to end.
    while ((await connection.request(publish(9000))).status !== 200);
    expect((await connection.request(publish(9000))).status).toBe(200);
  });

  it('that are cut off while requests wait for each other leave nothing behind', async () => {
    let gate = Promise.withResolvers<PushAnswer>();
    await using server = await openListener({
      bounds: { requests: 3 },
      endpoints: { readDevice: { answer: () => gate.promise } },
    });
    for (let at = 1; at <= 10; at++) {
      gate = Promise.withResolvers();
      await using connection = await RawHttp.open(server);
      connection.sendRequest({ method: 'GET', target: DEVICE });
      connection.sendRequest(publish(5));
      await until(() => server.underWay() === 1);
      await connection[Symbol.asyncDispose]();
      gate.resolve({ json: '{}' });
      await using next = await RawHttp.open(server);
      // It may take one turn of the loop to end.
      while ((await next.request({ method: 'OPTIONS', target: DEVICE })).status !== 204);
    }
    await using connection = await RawHttp.open(server);
    connection.sendRequest(publish(5));
    connection.sendRequest(publish(5));
    connection.sendRequest(publish(5));
    for (const _ of [1, 2, 3]) expect((await connection.read()).status).toBe(200);
  });
});

describe('opening', () => {
  it('fails with the code of the system when the port is taken', async () => {
    await using server = await openListener();
    const again = PushListener.open(
      { host: '127.0.0.1', port: server.port, tls: undefined },
      {
        log: { debug: noop, info: noop, warn: noop, error: noop },
        meter: { count: noop },
        proxies: new TrustedProxies([]),
        pathPrefix: '',
      },
    );
    await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('returns the address', async () => {
    await using server = await openListener();
    expect(server.listener.address).toEqual({ host: '127.0.0.1', port: server.port, tls: false });
    expect(server.port).toBeGreaterThan(0);
  });
});

function noop(): undefined {
  return undefined;
}

describe('stopping', () => {
  it('refuses new connections, closes idle ones and finishes requests in flight', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    const asked = Promise.withResolvers<void>();
    const server = await openListener({
      bounds: { stopMs: 60_000 },
      endpoints: {
        readDevice: {
          answer() {
            asked.resolve();
            return gate.promise;
          },
        },
      },
    });
    await using idle = await RawHttp.open(server);
    await idle.request(publish(5));
    await using waiting = await RawHttp.open(server);
    waiting.sendRequest({ method: 'GET', target: DEVICE });
    await asked.promise;
    const stopped = server[Symbol.asyncDispose]();
    await idle.untilEnd();
    await expect(RawHttp.open(server)).rejects.toThrow();
    gate.resolve({ json: '{}' });
    const answer = await waiting.read();
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await waiting.untilEnd();
    await stopped;
  });

  it('takes a limited time', async () => {
    const server = await openListener({
      endpoints: { readDevice: { answer: () => new Promise(() => undefined) } },
    });
    await using hanging = await RawHttp.open(server);
    hanging.sendRequest({ method: 'GET', target: DEVICE });
    await using half = await RawHttp.open(server);
    half.write('GET / HTTP/1.1\r\nHo');
    await using lingering = await RawHttp.open(server);
    lingering.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n');
    await lingering.read();
    await server[Symbol.asyncDispose]();
    await hanging.untilEnd();
    await half.untilEnd();
    await lingering.untilEnd();
    await server[Symbol.asyncDispose]();
  });
});
