import { afterAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { PushAnswer } from '../../../../src/transports/push-api/call.ts';
import { RawHttp } from '../../../../testing/clients/raw-http.ts';
import { untrusted } from '../../../../testing/servers/certificates.ts';
import { selfSigned } from '../../../../testing/servers/openssl.ts';
import { openListener } from './open-listener.ts';
import { DEVICE, publish, refused, until } from './requests-and-refusals.ts';

describe('with a certificate', () => {
  it('serves over TLS', async () => {
    await using server = await openListener({ tls: untrusted });
    expect(server.listener.address.tls).toBe(true);
    await using connection = await RawHttp.open(server, { tls: true });
    expect((await connection.request(publish(10_000))).status).toBe(200);
    connection.sendRequest(publish(10));
    connection.write('GARBAGE\r\n\r\n');
    expect((await connection.read()).status).toBe(200);
    expect(refused(await connection.read())[0]).toBe(400);
    await connection.untilEnd();
  });

  it('sends an answer that is larger than the buffers of the system, to a client that reads late', async () => {
    const json = JSON.stringify('x'.repeat(40_000_000));
    await using server = await openListener({
      tls: untrusted,
      endpoints: { readDevice: { answer: () => ({ json }) } },
    });
    await using connection = await RawHttp.open(server, { tls: true });
    connection.pauseReading();
    connection.sendRequest({ method: 'GET', target: DEVICE });
    connection.sendRequest(publish(5));
    await until(() => server.counted.has('200'));
    connection.resumeReading();
    expect((await connection.read()).body).toBe(`${json}\n`);
    expect((await connection.read()).status).toBe(200);
  });

  it('closes a connection whose handshake does not end', async () => {
    await using server = await openListener({ tls: untrusted });
    await using silent = await RawHttp.open(server);
    expect(await silent.readToEnd()).toBe('');
    expect(server.lines).toEqual([]);
  });

  it('closes a connection with plain HTTP, and keeps running', async () => {
    await using server = await openListener({ tls: untrusted });
    await using plain = await RawHttp.open(server);
    plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await plain.readToEnd()).not.toStartWith('HTTP');
    await using connection = await RawHttp.open(server, { tls: true });
    expect((await connection.request(publish(5))).status).toBe(200);
  });

  it('uses a new one for new connections, and lets old connections finish', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    const asked = Promise.withResolvers<void>();
    await using server = await openListener({
      tls: untrusted,
      endpoints: {
        readDevice: {
          answer() {
            asked.resolve();
            return gate.promise;
          },
        },
      },
    });
    const [one, two] = [selfSigned(directory, 'one'), selfSigned(directory, 'two')];
    expect(await certificateOf(server)).toBe('127.0.0.1');
    await using waiting = await RawHttp.open(server, { tls: true });
    waiting.sendRequest({ method: 'GET', target: DEVICE });
    await asked.promise;

    await server.listener.replaceCertificate(one);
    expect(await certificateOf(server)).toBe('one');
    gate.resolve({ json: '{}' });
    const answer = await waiting.read();
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await waiting.untilEnd();

    // Both at once: the later one wins.
    await Promise.all([
      server.listener.replaceCertificate(two),
      server.listener.replaceCertificate(one),
    ]);
    expect(await certificateOf(server)).toBe('one');
    await server.listener.replaceCertificate(two);
    expect(await certificateOf(server)).toBe('two');
    await using connection = await RawHttp.open(server, { tls: true });
    expect((await connection.request(publish(5))).status).toBe(200);
  });

  it('keeps the old one if the new one cannot be used', async () => {
    await using server = await openListener({ tls: untrusted });
    await using before = await RawHttp.open(server, { tls: true });
    expect((await before.request(publish(5))).status).toBe(200);
    const other = selfSigned(directory, 'other');
    for (const tls of [
      { cert: other.cert, key: untrusted.key },
      { cert: 'x', key: 'y' },
    ]) {
      await expect(server.listener.replaceCertificate(tls)).rejects.toThrow();
      expect(await certificateOf(server)).toBe('127.0.0.1');
    }
    expect((await before.request(publish(5))).status).toBe(200);
  });

  it('is ignored without TLS', async () => {
    await using server = await openListener();
    await server.listener.replaceCertificate(untrusted);
    await using connection = await RawHttp.open(server);
    expect((await connection.request(publish(5))).status).toBe(200);
  });
});

const directory = mkdtempSync(join(tmpdir(), 'fanfare-push-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** The common name of the certificate that a new connection gets. */
async function certificateOf(server: { readonly port: number }): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false });
  socket.once('secureConnect', () => resolve(socket.getPeerCertificate().subject['CN']));
  socket.once('error', reject);
  return await promise.finally(() => socket.destroy());
}
