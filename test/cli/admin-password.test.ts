import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { admin } from '../../testing/clients/admin-api.ts';
import { OTHER_USER, programOfOtherUser } from '../../testing/other-user.ts';
import { type Fanfare, spawnFanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import { FREE_PORTS, fanfare, fanfareProcess, temporaryDirectory } from './run-fanfare.ts';

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
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('is random, for its owner only, shown by the command, and neither logged nor printed', async () => {
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

  it('stays the same over restarts, and differs from that of other servers', async () => {
    await using first = await startFanfare();
    const before = first.adminPassword;
    await using again = await restart(first, 'SIGKILL');
    expect(again.adminPassword).toBe(before);
    expect(server.adminPassword).not.toBe(before);
  });

  it('is found by other commands without being given', async () => {
    const list = ['webhooks', 'list', '--config', join(server.directory, 'config.json')];
    const environment = { FANFARE_ADMIN_PORT: String(server.adminPort) };
    expect(await fanfare(server.directory, list, environment)).toMatchObject({
      exitCode: 0,
      stdout: 'There is no such webhook request.\n',
    });
  });

  it('need not be typed: a command makes a link that logs in once', async () => {
    const command = ['admin', 'link', '--config', join(server.directory, 'config.json')];
    const environment = { FANFARE_ADMIN_PORT: String(server.adminPort) };
    const { stdout, exitCode } = await fanfare(server.directory, command, environment);
    expect(exitCode).toBe(0);
    const [, token = ''] =
      /^http:\/\/127\.0\.0\.1:\d+\/dashboard#token=(\S+)\n$/.exec(stdout) ?? [];
    for (const status of [200, 401]) {
      const answer = await admin(server, 'POST', '/session', { body: { token }, anonymous: true });
      expect(answer.status).toBe(status);
    }
  });

  it('is replaced by --new, and a running server follows', async () => {
    const before = server.adminPassword ?? '';
    const changed = server.logsNext(/Admin password changed/);
    const { stdout, exitCode } = await beside(server, '--new');
    expect(exitCode).toBe(0);
    const password = stdout.trim();
    expect(password).not.toBe(before);
    expect(statSync(fileOf(server)).mode & 0o777).toBe(0o600);
    await changed;
    expect(await statusWith(server, password)).toBe(200);
    expect(await statusWith(server, before)).toBe(401);
    expect(server.output.stderr).not.toContain(password);
  });

  it('is followed when an operator writes another one, unless other users may write to the file', async () => {
    const before = server.adminPassword ?? '';
    const changed = server.logsNext(/Admin password changed/);
    writeFileSync(fileOf(server), 'chosen by an operator\n');
    await changed;
    expect(await statusWith(server, 'chosen by an operator')).toBe(200);
    const refused = server.logsNext(/Admin password cannot be read/);
    chmodSync(fileOf(server), 0o666);
    expect(await refused).toContain('can write to it');
    expect(await statusWith(server, 'chosen by an operator')).toBe(200);
    expect(await statusWith(server, before)).toBe(401);

    const restored = server.logsNext(/Admin password changed/);
    await beside(server, '--new');
    await restored;
  });

  it('stays valid when its file is removed, until a new one is made', async () => {
    const before = server.adminPassword ?? '';
    rmSync(fileOf(server));
    expect(await beside(server)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('there is no password at'),
    });
    expect(await statusWith(server, before)).toBe(200);
    const changed = server.logsNext(/Admin password changed/);
    const { stdout } = await beside(server, '--new');
    await changed;
    expect(await statusWith(server, stdout.trim())).toBe(200);
  });

  it('is the same for three servers of one directory that start at the same moment', async () => {
    using directory = temporaryDirectory();
    const environment = { ...FREE_PORTS, FANFARE_STORE_URL: 'sqlite::memory:' };
    const servers = await Promise.all(
      Array.from({ length: 3 }, () => spawnFanfare(['serve'], directory.path, environment)),
    );
    await using started = new AsyncDisposableStack();
    for (const server of servers) started.use(server);
    const [password = ''] = servers.map((server) => server.adminPassword);
    for (const server of servers) expect(await statusWith(server, password)).toBe(200);
    expect(readdirSync(join(directory.path, 'data'))).toEqual(['admin-password']);
  });

  it('is not made if one is configured', async () => {
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

it('the password of a file is sent to this machine only, unless the address is given', async () => {
  using directory = temporaryDirectory({
    'fanfare.json': JSON.stringify({ admin: { host: '192.0.2.1' } }),
  });
  mkdirSync(join(directory.path, 'data'));
  const file = join(directory.path, 'data/fanfare.db.admin-password');
  writeFileSync(file, 'a-password\n', { mode: 0o600 });
  for (const command of [
    ['admin', 'link'],
    ['webhooks', 'list'],
  ]) {
    const { exitCode, stderr } = await fanfare(directory.path, command);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `fanfare: the password in ${file} is sent to this machine only, and admin.host is 192.0.2.1. If that is your server, give --url http://192.0.2.1:6003\n`,
    });
  }
  using mine = Bun.serve({ port: 0, fetch: () => Response.json({ token: 'a-token' }) });
  const given = ['admin', 'link', '--url', `http://127.0.0.1:${mine.port}`];
  expect((await fanfare(directory.path, given)).stdout).toContain('#token=a-token');
});

it('a server does not start with a password file that is a symbolic link', async () => {
  using directory = temporaryDirectory();
  mkdirSync(join(directory.path, 'data'));
  symlinkSync('elsewhere', join(directory.path, 'data/fanfare.db.admin-password'));
  const { exitCode, stderr, stdout } = await fanfareProcess(directory.path, ['serve'], FREE_PORTS);
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toContain('it is a symbolic link');
});

describe('server and command line refuse a password file that', () => {
  const isRoot = process.geteuid?.() === 0;

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
    using directory = temporaryDirectory();
    mkdirSync(join(directory.path, 'data'));
    prepare(join(directory.path, 'data/fanfare.db.admin-password'), directory.path);
    const { exitCode, stderr, stdout } = await fanfare(directory.path, ['admin', 'password']);
    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toContain('data/fanfare.db.admin-password');
    expect(stderr).toContain(why);
    expect(stderr).toContain('fanfare admin password --new');
  });

  // Root may read everything and trusts every owner, so this needs another user.
  it.if(isRoot)('belongs to another user, or that its own user may not read', async () => {
    using program = await programOfOtherUser(join(import.meta.dir, '../../src/main.ts'));
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
      const child = Bun.spawn([...program.command, 'admin', 'password'], {
        cwd: path,
        env: { ...process.env, FANFARE_STORE_URL: 'sqlite:fanfare.db' },
        stderr: 'pipe',
      });
      expect(await new Response(child.stderr).text()).toContain(why);
      expect(await child.exited).toBe(1);
    }
  });
});

it('a server warns that other users may read its password, and starts', async () => {
  using directory = temporaryDirectory();
  const file = join(directory.path, 'data/fanfare.db.admin-password');
  mkdirSync(join(directory.path, 'data'));
  writeFileSync(file, 'a password\n', { mode: 0o640 });
  await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
  expect(await server.logged(/can read the admin password/)).toContain('"level":"warn"');
  expect(await statusWith(server, 'a password')).toBe(200);
});
