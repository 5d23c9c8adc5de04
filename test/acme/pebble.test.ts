import { expect, it, setDefaultTimeout } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { configOf, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { startForwardProxy } from '../../testing/servers/forward-proxy.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { sharedRedis } from '../../testing/servers/redis.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';
import { AUTHORITY, startPebble } from './pebble.ts';

/** Servers and a real authority. */

setDefaultTimeout(180_000);

const DOMAINS = ['ws.example.test', 'push.example.test'];

/** The serial number of the certificate of a listener that a client with this root trusts; why not, if it does not. */
function trusted(port: number, ca: string, servername: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', servername, ca }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.once('error', ({ message }) => resolve(`untrusted: ${message}`));
  });
}

it('a server gets a certificate that clients trust for all its domains, through a proxy, and renews it without a restart', async () => {
  using folder = temporaryDirectory();
  const httpPort = await freePort();
  await using pebble = await startPebble({ folder: folder.path, httpPort, validSeconds: 36 });
  await using proxy = await startForwardProxy({ portOf: (_, port) => port });
  const { caFile } = pebble;
  const directory = pebble.directory.replace('127.0.0.1', AUTHORITY);
  const acme = { domains: DOMAINS, email: 'ops@example.test', directory, caFile, httpPort };
  const outgoing = { proxy: `http://127.0.0.1:${proxy.port}` };
  const file = join(folder.path, 'config.json');
  writeFileSync(
    file,
    JSON.stringify(configOf(folder.path, { config: { tls: { acme }, outgoing } })),
  );
  await using server = await spawnFanfare(['serve', '--config', file], folder.path);
  await server.logged(/channels listener uses another certificate/);
  await server.logged(/push listener uses another certificate/);

  const ca = await pebble.root();
  const serials = new Set<string>();
  for (const port of [server.port, server.pushPort]) {
    for (const domain of DOMAINS) serials.add(await trusted(port, ca, domain));
  }
  const [serial = ''] = serials;
  expect([serials.size, serial]).toEqual([1, expect.stringMatching(/^[\dA-F]+$/i)]);
  await server.logsNext(/channels listener uses another certificate/);
  expect(await trusted(server.port, ca, 'ws.example.test')).toMatch(/^[\dA-F]+$/i);
  expect(await trusted(server.port, ca, 'ws.example.test')).not.toBe(serial);
});

it('two servers share one certificate, whichever of them the authority asks', async () => {
  using folder = temporaryDirectory();
  const httpPort = await freePort();
  await using pebble = await startPebble({ folder: folder.path, httpPort, validSeconds: 86_400 });
  await using database = await throwAwayPostgres();
  const engine = { type: 'redis', url: await sharedRedis(), keyPrefix: `${crypto.randomUUID()}:` };
  const { directory, caFile } = pebble;
  const start = async (name: string, port: number) => {
    const acme = { domains: DOMAINS, email: 'ops@example.test', directory, caFile, httpPort: port };
    const config = { tls: { acme }, engine, store: { url: database.url } };
    const file = join(folder.path, name);
    writeFileSync(file, JSON.stringify(configOf(folder.path, { config })));
    return await spawnFanfare(['serve', '--config', file], folder.path);
  };
  // The first to start orders, and the authority asks the other one.
  await using one = await start('one.json', await freePort());
  await using two = await start('two.json', httpPort);
  const ca = await pebble.root();
  const ask = () =>
    Promise.all(
      [one.port, two.port, one.pushPort].map((port) => trusted(port, ca, 'ws.example.test')),
    );
  const serials = await eventually(ask, (found) => found.every((one) => /^[\dA-F]+$/i.test(one)));
  expect(new Set(serials).size).toBe(1);
  expect(one.output.stderr).toContain('Ordering a certificate');
  expect(two.output.stderr).not.toContain('Ordering a certificate');
});
