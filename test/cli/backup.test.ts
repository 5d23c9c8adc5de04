import { Database } from 'bun:sqlite';
import { describe, expect, it } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { webhooksOf } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { trigger } from '../../testing/clients/sign.ts';
import {
  APP,
  configOf,
  type Fanfare,
  spawnFanfare,
  startFanfare,
} from '../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { fanfare, fanfareProcess, temporaryDirectory } from './run-fanfare.ts';

const CONFIG = ['--config', 'config.json'];

/** Runs the command beside a server, with its configuration, while this process continues to use the server. */
const backUp = (server: Fanfare, ...args: readonly string[]) =>
  fanfareProcess(server.directory, ['backup', ...args, ...CONFIG]);

/** Occupies channel after channel and triggers an event in each until it is stopped. Stopping returns their number. */
function keepBusy(server: Fanfare) {
  let over = false;
  const run = async () => {
    await using client = await RawClient.connect(server);
    let said = 0;
    for (; !over; said++) {
      const channel = `busy-${said}`;
      await client.subscribe(channel);
      await trigger(server, { name: 'e', channel, data: 'x' });
      expect(await client.receive()).toMatchObject({ event: 'e' });
    }
    return said;
  };
  const running = run();
  return () => {
    over = true;
    return running;
  };
}

/** The rows of the two tables that are written all the time. */
function holds(file: string) {
  using database = new Database(file, { readonly: true });
  const count = (table: string) =>
    database.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n ?? 0;
  const check = database.query<{ quick_check: string }, []>('PRAGMA quick_check').all();
  return { check, webhooks: count('outbox_requests'), usage: count('usage_days') };
}

describe('fanfare backup', () => {
  it('copies the store of a server that is writing to it, and a server starts from the copy', async () => {
    using endpoint = startWebhookEndpoint();
    const options = {
      app: {
        webhooks: [endpoint.webhook],
        limits: { channelsPerConnection: 0, subscriptionsPerSecond: 0 },
      },
      config: { webhooks: { allowPrivateAddresses: true } },
      channels: { framesPerSecond: 0 },
    };
    await using server = await startFanfare(options);
    const rest = keepBusy(server);
    const made: string[] = [];
    for (const name of ['first.db', 'second.db', 'third.db']) {
      await webhooksOf(server, 'state=delivered&limit=1', 1);
      const { exitCode, stdout, stderr } = await backUp(server, name, '--json');
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      const file = join(server.directory, name);
      expect(JSON.parse(stdout)).toEqual({ file, bytes: statSync(file).size });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const { check, webhooks } = holds(file);
      expect(check).toEqual([{ quick_check: 'ok' }]);
      expect(webhooks).toBeGreaterThan(0);
      made.push(file);
    }
    expect(await rest()).toBeGreaterThan(0);
    expect(readdirSync(server.directory).filter((name) => name.includes('unfinished'))).toEqual([]);
    expect(await server.stop()).toBe(0);
    expect(server.output.stderr).not.toContain('"level":"error"');

    using elsewhere = temporaryDirectory();
    renameSync(made.at(-1) ?? '', join(elsewhere.path, 'fanfare.db'));
    const config = configOf(elsewhere.path, options);
    writeFileSync(join(elsewhere.path, 'config.json'), JSON.stringify(config));
    await using restored = await spawnFanfare(['serve', ...CONFIG], elsewhere.path);
    const delivered = await webhooksOf(restored, `app=${APP.id}&limit=1`, 1);
    expect(delivered[0]?.app).toBe(APP.id);
    await using client = await RawClient.connect(restored);
    await client.subscribe('news');
    expect(await restored.stop()).toBe(0);
  }, 180_000);

  it('copies the store of a server that does not run', async () => {
    using directory = temporaryDirectory();
    const created = await fanfare(directory.path, ['apps', 'create', '--name', 'kept']);
    expect(created.exitCode).toBe(0);
    const ended = await fanfare(directory.path, ['backup', 'copy.db']);
    const file = join(directory.path, 'copy.db');
    expect(ended).toEqual({
      exitCode: 0,
      stdout: `The store was copied to ${file} (${statSync(file).size} bytes).\n`,
      stderr: '',
    });
    const listed = await fanfare(directory.path, ['apps', 'list'], {
      FANFARE_STORE_URL: 'sqlite:copy.db',
    });
    expect(listed.stdout).toContain('kept');
  });

  it('never overwrites a file, and leaves nothing behind after a failure', async () => {
    using directory = temporaryDirectory({ 'taken.db': 'mine', 'damaged.db': 'x'.repeat(9000) });
    mkdirSync(join(directory.path, 'data'));
    await fanfare(directory.path, ['apps', 'create']);
    {
      using other = new Database(join(directory.path, 'other.db'));
      other.exec('CREATE TABLE t (x)');
    }
    const before = readdirSync(directory.path);
    for (const [args, url, exitCode, words] of [
      [['taken.db'], undefined, 1, 'taken.db exists already, and is not overwritten'],
      [['none/copy.db'], undefined, 1, 'none cannot be written to: ENOENT'],
      [['copy.db'], 'sqlite:damaged.db', 1, 'cannot be copied: the store is damaged'],
      [['copy.db'], 'sqlite:other.db', 1, 'cannot be copied: it is not a store of Fanfare'],
      [['copy.db'], 'sqlite::memory:', 1, 'The store is in memory'],
      [['copy.db'], 'sqlite:gone/fanfare.db', 1, `There is no store at ${directory.path}/gone/`],
      [
        ['copy.db'],
        'postgres://user:geheim@127.0.0.1:1/db',
        1,
        'fanfare: The store is in PostgreSQL: back it up with pg_dump\n',
      ],
      [[], undefined, 2, 'the name of the new file is missing'],
      [['a', 'b'], undefined, 2, 'unexpected "b"'],
    ] as const) {
      const ended = await fanfare(
        directory.path,
        ['backup', ...args],
        url === undefined ? {} : { FANFARE_STORE_URL: url },
      );
      const { stderr, ...rest } = ended;
      expect(rest).toEqual({ exitCode, stdout: '' });
      expect(stderr).toContain(words);
      expect(stderr).not.toContain('geheim');
    }
    expect(readdirSync(directory.path)).toEqual(before);
    expect(await Bun.file(join(directory.path, 'taken.db')).text()).toBe('mine');
    expect(existsSync(join(directory.path, 'gone'))).toBe(false);
  });
});
