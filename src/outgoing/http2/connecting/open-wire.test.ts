import { afterAll, describe, expect, it } from 'bun:test';
import { createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { makeSelfSigned } from '../../../certificates/self-signed.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { a, b } from '../../certificates.fixture.ts';
import { createOpenWire, type WireTarget } from './open-wire.ts';
import type { Wire, WireListener } from './wire.ts';

const stops = new DisposableStack();
afterAll(() => stops.dispose());

const openWire = createOpenWire(monotonicTimers);

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.defer(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** An echo server, with TLS if it has a certificate. */
function echo(protocols: readonly string[], certificate = a): Promise<number> {
  return listening(
    createTlsServer({ ...certificate, ALPNProtocols: [...protocols] }, (socket) => {
      socket.on('error', () => socket.destroy());
      socket.pipe(socket);
    }),
  );
}

const target = (port: number, more: Partial<WireTarget> = {}): WireTarget => ({
  address: '127.0.0.1',
  port,
  serverName: 'a.example.test',
  ca: a.cert,
  timeoutMs: 5000,
  ...more,
});

/** A listener that records what comes over a wire, and how it ends. */
function ears() {
  const opened = Promise.withResolvers<Wire>();
  const heard = Promise.withResolvers<string>();
  const closed = Promise.withResolvers<string>();
  const listener: WireListener = {
    onBytes: (bytes) => heard.resolve(bytes.toString()),
    onDrain: () => undefined,
    onClose: (why) => closed.resolve(why),
  };
  const attach = (wire: Wire) => {
    opened.resolve(wire);
    return listener;
  };
  return { attach, opened: opened.promise, heard: heard.promise, closed: closed.promise };
}

describe('a wire', () => {
  it('connects to the given address, and verifies the certificate for the name', async () => {
    const port = await echo(['h2']);
    const { attach, opened, heard, closed } = ears();
    expect(await openWire(target(port), attach)).toEqual({ ok: true });
    const wire = await opened;
    expect(wire.write(Buffer.from('hello'))).toBe(true);
    expect(await heard).toBe('hello');
    wire.end();
    expect(await closed).toBe('closed');
  });

  it('connects to an address without a name', async () => {
    const certificate = makeSelfSigned(['127.0.0.1'], Date.now());
    const port = await echo(['h2'], certificate);
    const { attach } = ears();
    const found = { serverName: '127.0.0.1', ca: certificate.cert };
    expect(await openWire(target(port, found), attach)).toEqual({ ok: true });
    const other = await echo(['h2']);
    expect(await openWire(target(other, { serverName: '127.0.0.1' }), attach)).toMatchObject({
      ok: false,
    });
  });

  it('is not opened if the certificate has another name', async () => {
    const port = await echo(['h2']);
    const opening = await openWire(target(port, { serverName: 'b.example.test' }), ears().attach);
    expect(opening).toMatchObject({ ok: false, noHttp2: false });
    expect(opening).toHaveProperty('why', 'ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('is not opened if the certificate is untrusted', async () => {
    const port = await echo(['h2']);
    for (const ca of [undefined, b.cert]) {
      expect(await openWire(target(port, { ca }), ears().attach)).toMatchObject({ ok: false });
    }
  });

  it('is not opened if the server does not support HTTP/2', async () => {
    const withoutAny = await echo([]);
    const onlyOld = await echo(['http/1.1']);
    for (const port of [withoutAny, onlyOld]) {
      expect(await openWire(target(port), ears().attach)).toMatchObject({
        ok: false,
        noHttp2: true,
      });
    }
  });

  it('reports the reason if the port is closed, or on a timeout', async () => {
    const silent = await listening(
      createServer((socket) => void socket.on('error', () => socket.destroy())),
    );
    expect(await openWire(target(1), ears().attach)).toEqual({
      ok: false,
      why: 'ECONNREFUSED',
      noHttp2: false,
    });
    expect(await openWire(target(silent, { timeoutMs: 50 }), ears().attach)).toEqual({
      ok: false,
      why: 'timeout',
      noHttp2: false,
    });
  });

  it('uses no TLS without a server name', async () => {
    const port = await listening(createServer((socket) => void socket.pipe(socket)));
    const { attach, opened, heard } = ears();
    await openWire(target(port, { serverName: undefined }), attach);
    (await opened).write(Buffer.from('plain'));
    expect(await heard).toBe('plain');
  });

  it('is closed at once if it is not needed any more', async () => {
    const ended = Promise.withResolvers<void>();
    const port = await listening(createServer((socket) => void socket.on('close', ended.resolve)));
    const opening = await openWire(target(port, { serverName: undefined }), () => undefined);
    expect(opening).toMatchObject({ ok: false, why: 'not needed any more' });
    await ended.promise;
  });
});
