import { afterAll, describe, expect, it } from 'bun:test';
import { startFanfare } from '../../../testing/servers/fanfare.ts';
import { issued, selfSigned } from '../../../testing/servers/openssl.ts';
import { temporaryDirectory } from '../run-fanfare.ts';
import { tcpServer } from './broken-servers.ts';
import { BACKEND, examine, failure, SHORT_SECONDS } from './examine.ts';

describe('the doctor examines a server with TLS and', () => {
  const directory = temporaryDirectory();
  const authority = selfSigned(directory.path, 'authority');
  const make = (name: string, days: number, host: string) =>
    issued(directory.path, 'authority', name, { days, host });
  afterAll(() => directory[Symbol.dispose]());

  it('detects a self-signed certificate, and continues only on request', async () => {
    const { certFile, keyFile } = authority;
    await using server = await startFanfare({ config: { tls: { certFile, keyFile } } });
    const url = `https://127.0.0.1:${server.port}`;

    const found = await examine(url, BACKEND);
    expect(found.with('failed')).toEqual(['tls']);
    expect(found.of('tls')).toMatchObject(failure('self-signed', 'certbot'));
    expect(found.of('websocket')).toMatchObject({ detail: 'because "tls" failed' });

    const insecure = await examine(url, { ...BACKEND, insecure: true });
    expect(insecure.with('failed')).toEqual(['tls']);
    expect(insecure.of('unchanged-data')).toMatchObject({ result: 'ok' });

    const trusted = await examine(url, { ...BACKEND, ca: certFile });
    expect(trusted.of('tls')).toMatchObject({
      result: 'ok',
      detail: expect.stringMatching(/89|90/),
    });
    expect(trusted.code).toBe(0);

    const plain = await examine(`http://127.0.0.1:${server.port}`, { timeout: '1' });
    expect(plain.of('http')).toMatchObject(failure(/./, 'https://'));
  });

  it.each([
    ['that has expired', 'old', -1, 'IP:127.0.0.1', true, 'failed', 'expired on'],
    ['that ends soon', 'soon', 5, 'IP:127.0.0.1', true, 'warning', 'expires in [45] days'],
    ['for another host', 'other', 90, 'DNS:other.test', true, 'failed', 'it names DNS:other.test'],
    ['of an unknown issuer', 'unknown', 90, 'IP:127.0.0.1', false, 'failed', 'issuer .* unknown'],
    ['with every fault', 'bad', -1, 'DNS:x.test', true, 'failed', 'expired.*; .*another host'],
  ] as const)('detects a certificate %s', async (_, name, days, host, trusted, result, detail) => {
    const certificate = make(name, days, host);
    await using server = await tcpServer((socket) => socket.resume(), certificate);
    const found = await examine(`https://127.0.0.1:${server.port}`, {
      timeout: SHORT_SECONDS,
      ...(trusted ? { ca: authority.certFile } : {}),
    });
    expect(found.of('tls')).toMatchObject({
      result,
      detail: expect.stringMatching(new RegExp(detail)),
    });
  });
});
