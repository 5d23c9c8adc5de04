import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { admin } from '../../testing/clients/admin-api.ts';
import { type OwnCluster, ownPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { spawnFanfare } from '../../testing/servers/fanfare.ts';
import { type Certificate, issued, selfSigned } from '../../testing/servers/openssl.ts';
import { type OwnRedis, startRedis, startSentinel } from '../../testing/servers/redis.ts';
import { fanfare } from '../cli/run-fanfare.ts';

/**
 * A Redis with a sentinel, and a PostgreSQL, that all speak TLS and want a certificate of the server. That of
 * PostgreSQL names its user.
 */

const LOCAL = { days: 30, host: 'IP:127.0.0.1' };

let folder: string;
let redis: OwnRedis;
let sentinel: OwnRedis;
let postgres: OwnCluster;

/** The files that the configuration names. */
const file = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fanfare-certificates-'));
  const authority = selfSigned(folder, 'authority');
  const other = selfSigned(folder, 'other');
  writeFileSync(file('both.pem'), `${authority.cert}${other.cert}`);
  const servers = issued(folder, 'authority', 'servers', LOCAL);
  const sentinels = issued(folder, 'other', 'sentinels', LOCAL);
  issued(folder, 'authority', 'fanfare', LOCAL);
  issued(folder, 'other', 'watcher', LOCAL);
  redis = await startRedis(['--requirepass', 'one'], { ...servers, caFile: file('both.pem') });
  sentinel = await startSentinel(
    redis.port,
    ['user default off', 'user watcher on >two -@all +auth +sentinel|master'],
    { ...sentinels, caFile: file('other.pem') },
  );
  postgres = await ownPostgres({
    access: 'host all postgres 127.0.0.1/32 trust\nhostssl all fanfare 127.0.0.1/32 cert\n',
    tls: { ...servers, ca: authority.cert },
  });
  await using sql = new SQL(postgres.url, { max: 1 });
  await sql.unsafe('CREATE ROLE fanfare LOGIN');
  await sql.unsafe('CREATE DATABASE fanfare OWNER fanfare');
}, 60_000);

afterAll(async () => {
  for (const one of [redis, sentinel, postgres]) await one[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const storeUrl = (parameters: string) =>
  `${postgres.url.replace('postgres@', 'fanfare@').replace(/postgres$/, 'fanfare')}?${parameters}`;

/** A configuration in which everything is right, changed. */
function configure(
  directory: string,
  change: { readonly engine?: object; readonly store?: object },
) {
  const config = {
    channels: { port: 0 },
    push: { port: 0 },
    admin: { port: 0 },
    drainSeconds: 0,
    engine: {
      type: 'redis',
      url: `rediss+sentinel://:one@127.0.0.1:${sentinel.port}/main`,
      tls: {
        caFile: file('authority.pem'),
        certFile: file('fanfare.pem'),
        keyFile: file('fanfare.key'),
      },
      sentinels: {
        user: 'watcher',
        password: 'two',
        tls: {
          caFile: file('other.pem'),
          certFile: file('watcher.pem'),
          keyFile: file('watcher.key'),
        },
      },
      ...change.engine,
    },
    store: {
      url: storeUrl('sslmode=verify-full'),
      tls: {
        caFile: file('authority.pem'),
        certFile: file('fanfare.pem'),
        keyFile: file('fanfare.key'),
      },
      ...change.store,
    },
  };
  mkdirSync(directory, { recursive: true });
  const path = join(directory, 'fanfare.json');
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** The serial numbers of the certificates on the server's connections to PostgreSQL. */
async function serialsAtPostgres(): Promise<readonly string[]> {
  await using sql = new SQL(postgres.url, { max: 1 });
  const rows: { serial: string }[] = await sql`
    SELECT DISTINCT s.client_serial::text AS serial FROM pg_stat_ssl s
    JOIN pg_stat_activity a USING (pid) WHERE a.usename = 'fanfare'`;
  return rows.map(({ serial }) => serial);
}

async function tellRedis(certificate: string, ...words: readonly string[]): Promise<void> {
  const files = ['--cacert', file('authority.pem'), '--cert', file(`${certificate}.pem`)];
  const login = ['--no-auth-warning', '-a', 'one', '--tls', '--key', file(`${certificate}.key`)];
  const child = Bun.spawn(['redis-cli', '-p', String(redis.port), ...login, ...files, ...words]);
  await child.exited;
}

/** Replaces the files of a certificate. */
function replace(name: string, by: Certificate): void {
  cpSync(by.certFile, file(`${name}.pem`));
  cpSync(by.keyFile, file(`${name}.key`));
}

describe('a server with certificates for Redis, its sentinels and PostgreSQL', () => {
  it('is examined by fanfare doctor, and its store is open to commands', async () => {
    const config = configure(file('doctor'), {});
    const examined = await fanfare(folder, ['doctor', '--redis', '--store', '--config', config]);
    expect(examined.stdout).toMatch(/redis-sentinels .*: 1 of 1 sentinels name a primary/);
    expect(examined.stdout).toMatch(/store-tls +TLSv1\.3, as \/CN=fanfare/);
    expect(examined.stdout).toMatch(/store-pooler +no pooler is in between/);
    expect(examined.exitCode).toBe(0);
    const listed = await fanfare(folder, ['apps', 'list', '--config', config]);
    expect(listed.exitCode).toBe(0);
  });

  const pair = (name: string) => ({ certFile: file(`${name}.pem`), keyFile: file(`${name}.key`) });
  const ca = () => ({ caFile: file('authority.pem') });
  it.each([
    [
      'none is set',
      () => ({ tls: ca() }),
      /requires a valid client certificate: set store\.tls\.certFile and store\.tls\.keyFile/,
    ],
    [
      'its authority is not trusted there',
      () => ({ tls: { ...ca(), ...pair('watcher') } }),
      /does not accept the certificate of this server \(unknown ca\): store\.tls\.certFile/,
    ],
    [
      'it names another user',
      () => ({ tls: { ...ca(), ...pair('servers') } }),
      /authentication failed for user "fanfare" \(28000\)\. Check the user in store\.url, its certificate/,
    ],
    [
      'the authority of PostgreSQL is not trusted here',
      () => ({ tls: pair('fanfare') }),
      /the certificate of 127\.0\.0\.1:\d+ is not accepted.*set store\.tls\.caFile/,
    ],
    [
      'there is no such database',
      () => ({ url: storeUrl('sslmode=verify-full').replace('/fanfare?', '/other?') }),
      /database "other" does not exist \(3D000\)\. Create the database/,
    ],
  ])('says what to change if, for PostgreSQL, %s', async (_, store, words) => {
    const config = configure(file('wrong'), { store: store() });
    const examined = await fanfare(folder, ['doctor', '--store', '--config', config]);
    expect(examined.stdout).toMatch(words);
    expect(examined.exitCode).toBe(1);
  });

  it('may be named in the address of PostgreSQL, as for other programs', async () => {
    const names = `sslrootcert=${file('authority.pem')}&sslcert=${file('fanfare.pem')}&sslkey=${file('fanfare.key')}`;
    const url = storeUrl(`sslmode=verify-full&${names}`);
    const config = configure(file('url'), { store: { url, tls: {} } });
    const examined = await fanfare(folder, ['doctor', '--store', '--config', config]);
    expect(examined.stdout).toMatch(/as \/CN=fanfare/);
  });

  it('uses renewed ones after SIGHUP, without a restart', async () => {
    const directory = file('server');
    const config = configure(directory, {});
    await using server = await spawnFanfare(['serve', '--config', config], directory, {
      FANFARE_REALTIME_THREADS: '2',
    });
    expect((await admin(server, 'GET', '//readyz')).text).toBe('ready\n');
    const [before] = await serialsAtPostgres();
    const renewedFolder = file('renewed');
    mkdirSync(renewedFolder);
    for (const name of ['authority.pem', 'authority.key']) {
      cpSync(file(name), join(renewedFolder, name));
    }
    const other = selfSigned(renewedFolder, 'next');
    replace('fanfare', issued(renewedFolder, 'authority', 'fanfare', LOCAL));

    const reloaded = server.logsNext(/Reloaded apps, instances and certificate/);
    server.process.kill('SIGHUP');
    await reloaded;

    const serials = await eventually(
      async () => {
        await admin(server, 'GET', '/webhooks?limit=1');
        return await serialsAtPostgres();
      },
      (found) => found.length > 0 && !found.includes(before ?? ''),
    );
    expect(serials).toHaveLength(1);

    // From here on, Redis trusts another authority, whose certificate the server gets in time.
    replace('fanfare', issued(renewedFolder, 'next', 'fanfare-next', LOCAL));
    writeFileSync(file('trusted.pem'), `${other.cert}${await Bun.file(file('other.pem')).text()}`);
    const again = server.logsNext(/Reloaded apps, instances and certificate/);
    server.process.kill('SIGHUP');
    await again;
    const back = server.logsNext(/Redis is back/);
    await tellRedis('servers', 'CONFIG', 'SET', 'tls-ca-cert-file', file('trusted.pem'));
    await tellRedis('fanfare', 'CLIENT', 'KILL', 'TYPE', 'normal');
    await tellRedis('fanfare', 'CLIENT', 'KILL', 'TYPE', 'pubsub');
    await back;
  }, 60_000);
});
