import { afterEach, describe, expect, it } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { eventually } from '../../../testing/eventually.ts';
import {
  type ForwardProxyServer,
  type ForwardProxyServerOptions,
  startForwardProxy,
} from '../../../testing/servers/forward-proxy.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { a } from '../certificates.fixture.ts';
import { createOpenWire, type WireTarget } from '../http2/connecting/open-wire.ts';
import type { Wire } from '../http2/connecting/wire.ts';
import { proxyAt } from './forward-proxy.fixture.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

const openWire = createOpenWire(monotonicTimers);

/** A server that sends back what it gets, over TLS with HTTP/2 negotiated, or without TLS. */
async function startEcho(isSecure = true): Promise<number> {
  const serve = (socket: Socket) => {
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  };
  const server = isSecure
    ? createTlsServer({ ...a, ALPNProtocols: ['h2'] }, serve)
    : createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.defer(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function start(
  answer?: ForwardProxyServerOptions['answer'],
  to = 0,
): Promise<ForwardProxyServer> {
  const options = { portOf: () => to, ...(answer && { answer }) };
  return stops.use(await startForwardProxy(options));
}

/** A proxy that answers every request with these bytes, and keeps the connection. */
const saying = (bytes: string | Buffer) =>
  start((_, socket) => {
    socket.write(bytes);
    return true;
  });

const target = (proxy: WireTarget['proxy'], more: Partial<WireTarget> = {}): WireTarget => ({
  address: 'a.example.test',
  port: 443,
  serverName: 'a.example.test',
  ca: a.cert,
  timeoutMs: 5_000,
  proxy,
  ...more,
});

/** Opens a wire, and waits for an answer to a text of this size. */
async function echoed(given: WireTarget, bytes: number): Promise<Wire> {
  const opened = Promise.withResolvers<Wire>();
  const heard = Promise.withResolvers<void>();
  let received = 0;
  const opening = await openWire(given, (wire) => {
    opened.resolve(wire);
    return {
      onBytes(chunk) {
        received += chunk.length;
        if (received === bytes) heard.resolve();
      },
      onDrain: () => undefined,
      onClose: () => undefined,
    };
  });
  expect(opening).toEqual({ ok: true });
  const wire = await opened.promise;
  wire.write(Buffer.alloc(bytes, 'x'));
  await heard.promise;
  return wire;
}

const isIdle = (server: ForwardProxyServer) =>
  eventually(
    async () => server.open(),
    (open) => open === 0,
  );

describe('a connection through a proxy', () => {
  it('has TLS inside the tunnel, and ends with it', async () => {
    const server = await start(undefined, await startEcho());
    const address = { host: '127.0.0.1', port: server.port, authorization: 'Basic eDp5' };
    const proxy = proxyAt(server.port, { address });
    const wire = await echoed(target(proxy), 1_000_000);
    expect(await server.requests.next()).toEqual({
      method: 'CONNECT',
      target: 'a.example.test:443',
      fields: { host: 'a.example.test:443', 'proxy-authorization': 'Basic eDp5' },
    });
    wire.end();
    await isIdle(server);
  });

  it('to an IPv6 address has brackets around it', async () => {
    const server = await start(undefined, await startEcho(false));
    const given = target(proxyAt(server.port), { address: '2001:db8::1', serverName: undefined });
    (await echoed(given, 10)).destroy();
    expect(server.targets()).toEqual(['[2001:db8::1]:443']);
    await isIdle(server);
  });

  it('is refused if the certificate has another name, whatever the proxy says', async () => {
    const server = await start(undefined, await startEcho());
    const given = target(proxyAt(server.port), { serverName: 'b.example.test' });
    expect(await openWire(given, () => undefined)).toEqual({
      ok: false,
      why: 'ERR_TLS_CERT_ALTNAME_INVALID',
      noHttp2: false,
    });
    await isIdle(server);
  });

  it('finds the proxy at its next address if one does not answer', async () => {
    const server = await start(undefined, await startEcho());
    const proxy = proxyAt(server.port, {
      address: { host: 'proxy.example.test', port: server.port, authorization: undefined },
      lookUp: async (host) => (host === 'proxy.example.test' ? ['127.0.0.2', '127.0.0.1'] : []),
    });
    (await echoed(target(proxy), 10)).destroy();
  });

  it('gets what the other end sent first, if there is no TLS', async () => {
    const server = await saying('HTTP/1.1 200 OK\r\n\r\nhello');
    const heard = Promise.withResolvers<string>();
    const given = target(proxyAt(server.port), { serverName: undefined });
    await openWire(given, (wire) => {
      stops.defer(() => wire.destroy());
      return {
        onBytes: (bytes) => heard.resolve(bytes.toString()),
        onDrain: () => undefined,
        onClose: () => undefined,
      };
    });
    expect(await heard.promise).toBe('hello');
  });
});

describe('a proxy that makes no connection', () => {
  const opened = (port: number, more: Partial<WireTarget> = {}) =>
    openWire(target(proxyAt(port), more), () => undefined);

  it.each([
    [
      'HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n',
      'answered 407 Proxy Authentication Required',
    ],
    ['HTTP/1.1 403 <b>secret</b>\r\n\r\n', 'answered 403 Forbidden'],
    ['HTTP/1.1 503 \r\n\r\n', 'answered 503 Service Unavailable'],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\n', 'answered 101 Switching Protocols'],
    ['HTTP/1.1 599 Unknown\r\n\r\n', 'answered 599'],
    ['SSH-2.0-OpenSSH\r\n', 'did not answer in HTTP/1.1'],
    ['HTTP/1.1 200 OK\r\n'.padEnd(20_000, 'x'), 'sent a head that is too large'],
  ])('has refused with %j', async (answer, words) => {
    const server = await saying(answer);
    expect(await opened(server.port)).toEqual({
      ok: false,
      why: `proxy 127.0.0.1:${server.port} ${words}`,
      noHttp2: false,
      proxyReason: 'proxy-refused',
    });
    await isIdle(server);
  });

  it('is unreachable if its port is closed, it hangs, or it closes the connection', async () => {
    const unreachable = { ok: false, noHttp2: false, proxyReason: 'proxy-unreachable' } as const;
    expect(await opened(1)).toEqual({ ...unreachable, why: 'proxy 127.0.0.1:1: ECONNREFUSED' });
    const hanging = await start(() => true);
    expect(await opened(hanging.port, { timeoutMs: 50 })).toEqual({
      ...unreachable,
      why: `proxy 127.0.0.1:${hanging.port}: timeout`,
    });
    await isIdle(hanging);
    const closing = await start((_, socket) => {
      socket.destroy();
      return true;
    });
    expect(await opened(closing.port)).toMatchObject(unreachable);
  });

  it('is unreachable if its name is unknown', async () => {
    const proxy = proxyAt(3128, {
      address: { host: 'proxy.example.test', port: 3128, authorization: undefined },
      lookUp: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
    });
    expect(await openWire(target(proxy), () => undefined)).toMatchObject({
      why: 'proxy proxy.example.test:3128: ENOTFOUND',
      proxyReason: 'proxy-unreachable',
    });
  });

  it('cannot begin to speak before TLS does, nor send a body with its answer', async () => {
    const early = await saying('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello');
    expect(await opened(early.port)).toEqual({
      ok: false,
      why: 'bytes before TLS',
      noHttp2: false,
    });
    await isIdle(early);
    const late = await start((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.once('data', () => void socket.write('<html>'));
      return true;
    });
    expect(await opened(late.port)).toMatchObject({ ok: false });
    await isIdle(late);
  });

  it('leaves no connection if the caller gave up', async () => {
    const port = await startEcho();
    const server = await start(undefined, port);
    expect(await opened(server.port)).toMatchObject({ why: 'not needed any more' });
    await isIdle(server);
  });
});
