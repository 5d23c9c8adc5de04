import { expect, it } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import { ownPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { configOf, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { startRedis } from '../../testing/servers/redis.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const ACCESS = `host all postgres 127.0.0.1/32 trust
host all fanfare 127.0.0.1/32 scram-sha-256
`;

it('reads rotated passwords of Redis and PostgreSQL from their files at SIGHUP, for the next connections', async () => {
  using directory = temporaryDirectory();
  await using redis = await startRedis(['--requirepass', 'old']);
  await using postgres = await ownPostgres({ access: ACCESS });
  await using operator = new SQL(postgres.url, { max: 1 });
  await operator.unsafe("CREATE ROLE fanfare LOGIN PASSWORD 'old'");
  await operator.unsafe('CREATE DATABASE fanfare OWNER fanfare');
  const file = (name: string) => join(directory.path, name);
  const databaseOf = (password: string) =>
    postgres.url.replace(/postgres@(.*)\/postgres$/, `fanfare:${password}@$1/fanfare`);
  const writePasswords = (password: string) => {
    writeFileSync(file('redis'), `redis://:${password}@127.0.0.1:${redis.port}\n`);
    writeFileSync(file('postgres'), `${databaseOf(password)}\n`);
  };
  // Both addresses come from files.
  const config = configOf(directory.path, { config: { engine: { type: 'redis' } } });
  writeFileSync(file('fanfare.json'), JSON.stringify({ ...config, store: undefined }));
  writePasswords('old');
  await using server = await spawnFanfare(
    ['serve', '--config', file('fanfare.json')],
    directory.path,
    { FANFARE_ENGINE_URL_FILE: file('redis'), FANFARE_STORE_URL_FILE: file('postgres') },
  );
  await using client = await RawClient.connect(server);
  await client.subscribe('news');

  const tellRedis = (password: string, ...words: readonly string[]) =>
    Bun.spawnSync(['redis-cli', '-p', String(redis.port), '-a', password, ...words]);
  tellRedis('old', 'CONFIG', 'SET', 'requirepass', 'new');
  await operator.unsafe("ALTER ROLE fanfare PASSWORD 'new'");
  writePasswords('new');
  server.process.kill('SIGHUP');
  await server.logged(/Reloaded apps, instances and certificate/);
  // Connections that are open stay.
  await trigger(server, { name: 'first', channel: 'news', data: '' });
  expect(await client.receive()).toMatchObject({ event: 'first' });

  for (const type of ['normal', 'pubsub']) tellRedis('new', 'CLIENT', 'KILL', 'TYPE', type);
  await operator`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'fanfare'`;
  const made = await eventually(
    () => admin(server, 'POST', '/apps', { body: {} }),
    ({ status }) => status === 201,
  );
  expect(made.status).toBe(201);
  await eventually(
    () =>
      trigger(server, { name: 'second', channel: 'news', data: '' }).then(
        () => true,
        () => false,
      ),
    (isAnswered) => isAnswered,
  );
  expect(await client.receive()).toMatchObject({ event: 'second' });
  expect(server.output.stderr).not.toContain('need a restart');
}, 120_000);
