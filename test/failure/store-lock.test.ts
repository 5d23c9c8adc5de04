import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import { openDatabase } from '../../src/stores/database/database.ts';
import { StoreLock } from '../../src/stores/database/store-lock.ts';
import { runs } from '../../testing/long-run.ts';
import {
  configOf,
  type Fanfare,
  PROGRAM,
  spawnFanfare,
  startFanfare,
} from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { type Ended, FREE_PORTS, fanfare, temporaryDirectory } from '../cli/run-fanfare.ts';
import { becomes, readiness, storeOf } from './store-trouble.ts';

/** Starts one more server in the directory of another one; its store is named as `url` has it. */
function startAnother(directory: string, url: string): Promise<Ended> {
  return fanfare(directory, ['serve'], { ...FREE_PORTS, FANFARE_STORE_URL: url });
}

/** Whether a program of this user may mount something that only it sees. */
const canMount = Bun.which('unshare') !== null && Bun.spawnSync(['unshare', '-rm', 'true']).success;

const nothing = async () => undefined;

async function isReady(server: Fanfare): Promise<void> {
  expect(await becomes(server, /^200/, nothing)).toBe('200 ready\n');
}

function expectRefused(ended: Ended, owner: Fanfare): void {
  expect(ended).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(
        `^fanfare: The store sqlite:\\S+ is used by another server: process ${owner.process.pid} on \\S+, since 2\\S+Z\\. `,
      ),
    ),
  });
}

/** Expects that nobody else can take a server's lock: what a second server would try first, without starting one. */
function expectUsed(owner: Fanfare, path = storeOf(owner.directory)): void {
  const isUsed = `is used by another server: process ${owner.process.pid} `;
  expect(() => StoreLock.take(`sqlite:${path}`)).toThrow(isUsed);
}

describe('a server with a store', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('refuses to use a store that another server uses, by whatever path it is named', async () => {
    const { directory } = server;
    const file = storeOf(directory);
    mkdirSync(join(directory, 'other'));
    symlinkSync(file, join(directory, 'other', 'link.db'));
    symlinkSync(directory, join(directory, 'other', 'folder'));
    const before = statSync(file).mtimeMs;
    expectRefused(await startAnother(directory, 'sqlite:other/folder/fanfare.db'), server);
    for (const path of [
      file,
      relative(process.cwd(), file),
      `${directory}/other/../fanfare.db`,
      `//${file}`,
      join(directory, 'other/link.db'),
      join(directory, 'other/folder/fanfare.db'),
    ]) {
      expectUsed(server, path);
    }
    expect(statSync(file).mtimeMs).toBe(before);
    await isReady(server);
  });

  it('refuses a store that a stopped server uses', async () => {
    server.process.kill('SIGSTOP');
    expectRefused(await startAnother(server.directory, 'sqlite:fanfare.db'), server);
    server.process.kill('SIGCONT');
    await isReady(server);
  });

  it('lets commands and backups use the store beside its owner', async () => {
    const { directory } = server;
    const beside = (...args: string[]) =>
      fanfare(directory, [...args, '--config', join(directory, 'config.json')]);
    const created = await beside('apps', 'create', '--json');
    expect(created).toMatchObject({ exitCode: 0, stderr: '' });
    expect((await beside('apps', 'list')).stdout).toContain(JSON.parse(created.stdout).id);
    expect(await beside('backup', 'copy.db')).toMatchObject({ exitCode: 0, stderr: '' });
    // The copy is another store.
    await using other = await spawnFanfare(['serve'], directory, {
      ...FREE_PORTS,
      FANFARE_STORE_URL: 'sqlite:copy.db',
    });
    await isReady(other);
    expectUsed(server);
  });

  it('takes its lock again when somebody removes the file of it', async () => {
    const lock = `${storeOf(server.directory)}.lock`;
    expect(statSync(lock).mode & 0o777).toBe(0o600);
    rmSync(lock);
    while (!existsSync(lock)) await readiness(server);
    // The server may still be about to lock the new file. It answers when it has.
    await isReady(server);
    expectUsed(server);
  });

  it('is not ready while another server has got the lock that was taken from it', async () => {
    const lock = `${storeOf(server.directory)}.lock`;
    // What another server would have made, in one step.
    const other = join(server.directory, 'other.lock');
    {
      using database = new Database(other);
      database.run('BEGIN IMMEDIATE');
      renameSync(other, lock);
      expect(await becomes(server, /^503.*store:/s, nothing)).toContain('another server uses it');
      database.run('ROLLBACK');
      await isReady(server);
    }
    expectUsed(server);
  });

  it('refuses names of a file that SQLite reads in another way', async () => {
    const file = storeOf(server.directory);
    for (const name of [`file:${file}`, `file://${file}`, `${file}?mode=rwc`, `${file} `]) {
      expect(await startAnother(server.directory, `sqlite:${name}`)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('must be sqlite:PATH of one file'),
      });
    }
    // Bun takes the space away, whatever the configuration lets pass.
    await expect(openDatabase(`sqlite:${file} `)).rejects.toThrow(
      /SQLite reads its name as "\S+\.db"/,
    );
    await isReady(server);
  });

  it('refuses before it changes anything: the work that the owner has claimed stays its own', async () => {
    using store = new Database(storeOf(server.directory));
    store.run('PRAGMA busy_timeout = 5000');
    // A store that needs a newer version would stop any start that got this far.
    store.run('INSERT INTO migrations (number) VALUES (999)');
    store.run('UPDATE compatibility SET needs = 999');
    expectRefused(await startAnother(server.directory, 'sqlite:fanfare.db'), server);
  });
});

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'uses the store at once when its last owner has ended by %s',
  async (signal) => {
    await using server = await startFanfare();
    await using again = await restart(server, signal);
    await isReady(again);
    expectUsed(again);
  },
);

it('starts one server of many that start at the same moment', async () => {
  for (let round = 0; round < runs(1, 10); round++) {
    using directory = temporaryDirectory();
    const file = join(directory.path, 'config.json');
    writeFileSync(file, JSON.stringify(configOf(directory.path)));
    const starts = await Promise.allSettled(
      Array.from({ length: 5 }, () => spawnFanfare(['serve', '--config', file], directory.path)),
    );
    await using started = new AsyncDisposableStack();
    for (const start of starts) if (start.status === 'fulfilled') started.use(start.value);
    const why = starts.flatMap((start) =>
      start.status === 'rejected' ? [String(start.reason)] : [],
    );
    expect(why).toHaveLength(4);
    for (const text of why) expect(text).toContain('is used by another server');
  }
});

it('does not start where the store has several names, or its lock cannot be used', async () => {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'fanfare.db');
  writeFileSync(`${file}.lock`, 'no database'.repeat(100));
  expect(await startAnother(directory.path, 'sqlite:fanfare.db')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('fanfare.db.lock: file is not a database'),
  });
  linkSync(file, join(directory.path, 'second-name.db'));
  expect(await startAnother(directory.path, 'sqlite:fanfare.db')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/has several names \(hard links\).* Keep one name of \S+fanfare/),
  });
});

it('uses the very file that it locks, whatever the name is made of', async () => {
  using directory = temporaryDirectory();
  // A working directory may be called like this; in a setting, such names are refused.
  const odd = join(directory.path, 'a?mode=ro #%2e ');
  mkdirSync(odd);
  await using server = await spawnFanfare(['serve'], odd, {
    ...FREE_PORTS,
    FANFARE_STORE_URL: 'sqlite:b#%2e.db',
  });
  expect(readdirSync(directory.path)).toEqual([basename(odd)]);
  expect(readdirSync(odd).toSorted()).toEqual(
    ['', '-shm', '-wal', '.admin-password', '.lock'].map((end) => `b#%2e.db${end}`),
  );
  expectRefused(await startAnother(odd, 'sqlite:./b#%2e.db'), server);
});

it.skipIf(!canMount)(
  'refuses a file that is mounted alone, where neither its lock nor what SQLite keeps beside it is',
  async () => {
    await using server = await startFanfare();
    const place = join(server.directory, 'a place');
    mkdirSync(place);
    writeFileSync(join(place, 'alone.db'), '');
    for (const command of [['serve'], ['apps', 'list'], ['backup', 'copy.db']]) {
      const mounted = `mount --bind fanfare.db 'a place/alone.db' && exec "$@"`;
      const child = Bun.spawn(
        ['unshare', '-rm', 'sh', '-c', mounted, 'sh', process.execPath, PROGRAM, ...command],
        {
          cwd: server.directory,
          env: {
            ...process.env,
            ...FREE_PORTS,
            FANFARE_STORE_URL: 'sqlite:a place/alone.db',
          },
          stdout: 'pipe',
          stderr: 'pipe',
        },
      );
      const [printed, exitCode] = await Promise.all([
        new Response(child.stderr).text(),
        child.exited,
      ]);
      // Beside lines of the log.
      const stderr = printed.replace(/^\{.*\n/gm, '');
      expect({ stderr, exitCode }).toEqual({
        exitCode: 1,
        stderr: `fanfare: The store sqlite:a place/alone.db is a single mounted file, without the files that SQLite keeps beside it. Mount its directory instead of ${join(place, 'alone.db')}\n`,
      });
    }
    expect(readdirSync(place)).toEqual(['alone.db']);
  },
);

it('needs no lock for a store in memory', async () => {
  using directory = temporaryDirectory();
  const environment = { ...FREE_PORTS, FANFARE_STORE_URL: 'sqlite::memory:' };
  await using one = await spawnFanfare(['serve'], directory.path, environment);
  await using two = await spawnFanfare(['serve'], directory.path, environment);
  for (const server of [one, two]) await isReady(server);
  expect(existsSync(join(directory.path, ':memory:.lock'))).toBe(false);
});
