import { describe, expect, it } from 'bun:test';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { admin } from '../../testing/clients/admin-api.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { type Fanfare, spawnFanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { FREE_PORTS, fanfare, fanfareProcess, temporaryDirectory } from './run-fanfare.ts';

const MAIN = join(import.meta.dir, '../../src/main.ts');

const beside = (server: Fanfare, ...args: string[]) =>
  fanfare(server.directory, [
    'admin',
    'password',
    ...args,
    '--config',
    join(server.directory, 'config.json'),
  ]);

const fileOf = (server: Fanfare) => join(server.directory, 'fanfare.db.admin-password');

async function statusWith(server: Fanfare, password: string): Promise<number> {
  const headers = { authorization: `Bearer ${password}` };
  return (await admin(server, 'GET', '/apps', { headers })).status;
}

describe('the password that a server makes', () => {
  it('is random, for its owner only, shown by the command, and neither logged nor printed', async () => {
    await using server = await startFanfare();
    const { adminPassword = '' } = server;
    expect(adminPassword).toMatch(/^[\w-]{32}$/);
    expect(statSync(fileOf(server)).mode & 0o777).toBe(0o600);
    expect(await beside(server)).toEqual({ exitCode: 0, stdout: `${adminPassword}\n`, stderr: '' });
    expect(JSON.parse((await beside(server, '--json')).stdout)).toEqual({
      password: adminPassword,
    });
    expect(server.output.stdout).toContain('password: npx fanfare admin password');
    expect(server.output.stdout + server.output.stderr).not.toContain(adminPassword);
    expect(readdirSync(server.directory).filter((name) => name.includes('unfinished'))).toEqual([]);
  });

  it('stays over restarts, and other servers have others', async () => {
    await using server = await startFanfare();
    const before = server.adminPassword;
    await using again = await restart(server, 'SIGKILL');
    expect(again.adminPassword).toBe(before);
    await using other = await startFanfare();
    expect(other.adminPassword).not.toBe(before);
  });

  it('is used by commands by itself', async () => {
    await using server = await startFanfare();
    const list = ['webhooks', 'list', '--config', join(server.directory, 'config.json')];
    const environment = { FANFARE_ADMIN_PORT: String(server.adminPort) };
    expect(await fanfare(server.directory, list, environment)).toMatchObject({
      exitCode: 0,
      stdout: 'There is no such webhook request.\n',
    });
    expect(server.output.stderr).not.toContain('Admin request refused');
  });

  it('is replaced by --new, and a running server follows within a second', async () => {
    await using server = await startFanfare();
    const before = server.adminPassword ?? '';
    const { stdout, exitCode } = await beside(server, '--new');
    const startedMs = performance.now();
    expect(exitCode).toBe(0);
    const password = stdout.trim();
    expect(password).not.toBe(before);
    expect(statSync(fileOf(server)).mode & 0o777).toBe(0o600);
    await server.logged(/Admin password changed/);
    expect(performance.now() - startedMs).toBeLessThan(1000);
    expect(await statusWith(server, password)).toBe(200);
    expect(await statusWith(server, before)).toBe(401);
    expect(server.output.stderr).not.toContain(password);
  });

  it('is followed when an operator writes another one, but not where others may have', async () => {
    await using server = await startFanfare();
    const before = server.adminPassword ?? '';
    writeFileSync(fileOf(server), 'chosen by an operator\n');
    await server.logged(/Admin password changed/);
    expect(await statusWith(server, 'chosen by an operator')).toBe(200);
    chmodSync(fileOf(server), 0o666);
    expect(await server.logged(/Admin password cannot be read/)).toContain('can write to it');
    expect(await statusWith(server, 'chosen by an operator')).toBe(200);
    expect(await statusWith(server, before)).toBe(401);
  });

  it('stays when its file is removed, until a new one is made', async () => {
    await using server = await startFanfare();
    const before = server.adminPassword ?? '';
    rmSync(fileOf(server));
    expect(await beside(server)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('there is no password at'),
    });
    expect(await statusWith(server, before)).toBe(200);
    const { stdout } = await beside(server, '--new');
    await server.logged(/Admin password changed/);
    expect(await statusWith(server, stdout.trim())).toBe(200);
  });

  it('is one password where several servers start at the same moment', async () => {
    using directory = temporaryDirectory();
    const environment = { ...FREE_PORTS, FANFARE_STORE_URL: 'sqlite::memory:' };
    const servers = await Promise.all(
      Array.from({ length: 4 }, () => spawnFanfare(['serve'], directory.path, environment)),
    );
    await using started = new AsyncDisposableStack();
    for (const server of servers) started.use(server);
    const [password = ''] = servers.map((server) => server.adminPassword);
    for (const server of servers) expect(await statusWith(server, password)).toBe(200);
    expect(readdirSync(join(directory.path, 'data'))).toEqual(['admin-password']);
  });

  it('is kept in data/ of the working directory where the store is in PostgreSQL', async () => {
    await using store = await throwAwayPostgres();
    using directory = temporaryDirectory();
    const environment = { ...FREE_PORTS, FANFARE_STORE_URL: store.url };
    await using server = await spawnFanfare(['serve'], directory.path, environment);
    const file = join(directory.path, 'data/admin-password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const shown = await fanfare(directory.path, ['admin', 'password'], environment);
    expect(shown.stdout.trim()).toBe(readFileSync(file, 'utf8').trim());
    expect(await statusWith(server, shown.stdout.trim())).toBe(200);
  });

  it('is not needed where one is configured', async () => {
    await using server = await startFanfare({ config: { admin: { port: 0, password: 'p' } } });
    expect(existsSync(fileOf(server))).toBe(false);
    expect((await beside(server)).stdout).toBe('p\n');
    expect(await beside(server, '--new')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('admin.password is set in the configuration'),
    });
    expect(await beside(server, 'x')).toMatchObject({ exitCode: 2 });
  });
});

describe('a server does not start with a password file that', () => {
  const OTHER_USER = 65_534;
  const isRoot = process.geteuid?.() === 0;

  /** Starts a server beside such a file, as a user of its own where the tests may. */
  async function start(prepare: (file: string, directory: string) => void) {
    using directory = temporaryDirectory();
    const { path } = directory;
    mkdirSync(join(path, 'data'));
    prepare(join(path, 'data/fanfare.db.admin-password'), path);
    return await fanfareProcess(path, ['serve'], FREE_PORTS);
  }

  it.each<[string, string, (file: string, directory: string) => void]>([
    [
      'is a symbolic link',
      'it is a symbolic link',
      (file, directory) => {
        writeFileSync(join(directory, 'elsewhere'), 'x');
        symlinkSync(join(directory, 'elsewhere'), file);
      },
    ],
    [
      'is a symbolic link to nothing',
      'it is a symbolic link',
      (file, directory) => symlinkSync(join(directory, 'nowhere'), file),
    ],
    ['is a directory', 'it is not a file', (file) => mkdirSync(file)],
    [
      'is a pipe',
      'it is not a file',
      (file) => void Bun.spawnSync(['mkfifo', file], { stderr: 'inherit' }),
    ],
    ['is empty', 'one line with a password', (file) => writeFileSync(file, '', { mode: 0o600 })],
    ['has two lines', 'one line with a password', (file) => writeFileSync(file, 'a\nb\n')],
    ['has control characters', 'one line with a password', (file) => writeFileSync(file, 'a\0b')],
    ['is huge', 'one line with a password', (file) => writeFileSync(file, 'x'.repeat(10_000))],
    [
      'everybody may write to',
      'every user of this machine can write to it',
      (file) => {
        writeFileSync(file, 'chosen by somebody\n');
        chmodSync(file, 0o602);
      },
    ],
  ])('%s', async (_, why, prepare) => {
    const { exitCode, stderr, stdout } = await start(prepare);
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toContain('data/fanfare.db.admin-password');
    expect(stderr).toContain(why);
    expect(stderr).toContain('fanfare admin password --new');
  });

  // Root may read and trusts everything, so this takes a user who is not root.
  it.if(isRoot)('belongs to another user, or that its own user may not read', async () => {
    for (const [prepare, why] of [
      [(file: string) => chownSync(file, 12_345, 12_345), 'it belongs to another user (12345)'],
      [(file: string) => chmodSync(file, 0o000), 'permission denied'],
    ] as const) {
      using directory = temporaryDirectory();
      const { path } = directory;
      const file = join(path, 'fanfare.db.admin-password');
      writeFileSync(file, 'chosen by somebody\n', { mode: 0o644 });
      for (const owned of [path, file]) chownSync(owned, OTHER_USER, OTHER_USER);
      prepare(file);
      const command = [process.execPath, MAIN, 'admin', 'password'];
      const child = Bun.spawn(['setpriv', `--reuid=${OTHER_USER}`, '--clear-groups', ...command], {
        cwd: path,
        env: { ...process.env, FANFARE_STORE_URL: 'sqlite:fanfare.db' },
        stderr: 'pipe',
      });
      expect(await new Response(child.stderr).text()).toContain(why);
      expect(await child.exited).toBe(1);
    }
  });
});

it('a server warns where other users may read its password, and goes on', async () => {
  await using server = await startFanfare();
  await server.stop();
  chmodSync(fileOf(server), 0o640);
  await using again = await spawnFanfare(
    ['serve', '--config', join(server.directory, 'config.json')],
    server.directory,
  );
  expect(await again.logged(/may read the admin password/)).toContain('"level":"warn"');
  expect(await statusWith(again, again.adminPassword ?? '')).toBe(200);
});
