import { expect, it } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { AcmeDirectory } from '../../testing/servers/acme-directory.ts';
import { configOf, type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { temporaryDirectory } from './run-fanfare.ts';

const DOMAIN = 'ws.example.test';

/** The certificate of a listener. */
function certificateOf(port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { port, host: '127.0.0.1', servername: DOMAIN, rejectUnauthorized: false },
      () => {
        const { raw } = socket.getPeerCertificate();
        socket.destroy();
        resolve(new X509Certificate(raw));
      },
    );
    socket.once('error', reject);
  });
}

const readyz = async (server: Fanfare) => {
  const { status, text } = await admin(server, 'GET', '//readyz');
  return { status, text };
};

it('a server with tls.acme gets a certificate, uses it without a restart, and keeps it over one', async () => {
  using directory = temporaryDirectory();
  const httpPort = await freePort();
  const asked = (path: string) =>
    fetch(`http://127.0.0.1:${httpPort}${path}`, {
      headers: { host: DOMAIN },
      redirect: 'manual',
    });
  const authority = new AcmeDirectory({
    now: Date.now,
    look: async (_, token) => await (await asked(`/.well-known/acme-challenge/${token}`)).text(),
  });
  const own = makeSelfSigned(['127.0.0.1'], Date.now());
  const caFile = join(directory.path, 'ca.pem');
  writeFileSync(caFile, own.cert);
  await using listener = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: own,
    fetch: async (request) => {
      const { method, url } = request;
      return await authority.fetch(url, { method, body: await request.text() });
    },
  });
  authority.origin = `https://127.0.0.1:${listener.port}`;
  authority.refusal = { status: 503, type: 'serverInternal', detail: 'closed on Sundays' };

  const acme = {
    domains: [DOMAIN],
    email: 'ops@example.test',
    directory: authority.url,
    caFile,
    httpPort,
  };
  const file = join(directory.path, 'config.json');
  const args = ['serve', '--config', file];
  writeFileSync(file, JSON.stringify(configOf(directory.path, { config: { tls: { acme } } })));
  await using server = await spawnFanfare(args, directory.path);
  await server.logged(/No certificate was obtained.*closed on Sundays/);
  expect(await readyz(server)).toEqual({
    status: 503,
    text: expect.stringContaining('certificate: There is no certificate yet.'),
  });
  const standIn = await certificateOf(server.port);
  expect(standIn.verify(standIn.publicKey)).toBe(true);
  const other = await asked('/any?thing');
  expect([other.status, other.headers.get('location')]).toEqual([
    308,
    `https://${DOMAIN}/any?thing`,
  ]);
  expect((await asked('/.well-known/acme-challenge/unknown')).status).toBe(404);

  authority.refusal = undefined;
  server.process.kill('SIGHUP');
  await server.logged(/A certificate was obtained/);
  for (const name of ['channels', 'push']) {
    await server.logged(new RegExp(`${name} listener uses another certificate`));
  }
  for (const port of [server.port, server.pushPort]) {
    const certificate = await certificateOf(port);
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.checkHost(DOMAIN)).toBe(DOMAIN);
  }
  expect((await readyz(server)).status).toBe(200);
  const { text } = await admin(server, 'GET', '//metrics');
  expect(text).toMatch(/^fanfare_certificate_end_time_seconds 1\d{9}/m);
  expect(text).toContain('fanfare_certificate_orders_total{outcome="succeeded"} 1');
  // The keys of the account and the certificate stay in the store.
  expect(server.output.stderr).not.toContain('PRIVATE KEY');
  const before = await certificateOf(server.port);
  expect(await server.stop()).toBe(0);

  await using again = await spawnFanfare(args, directory.path);
  expect((await certificateOf(again.port)).fingerprint256).toBe(before.fingerprint256);
  expect(authority.ordersAtMs).toHaveLength(2);
});
