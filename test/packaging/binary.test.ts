import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { versionOf } from '../../packaging/commit.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { api } from '../../testing/clients/sign.ts';
import { APP, configOf, type Fanfare, spawnProgram } from '../../testing/servers/fanfare.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const ROOT = join(import.meta.dir, '../..');

/** The working directory of everything here. Nothing in it but the configuration may have any effect. */
const directory = temporaryDirectory({
  '.env': 'FANFARE_NOTHING_LIKE_IT=1\n',
  'bunfig.toml': 'preload = ["./hostile.ts"]\n',
  'hostile.ts': 'console.error("hostile"); process.exit(3);',
});
afterAll(() => directory[Symbol.dispose]());

let binary = '';
let server: Fanfare;

beforeAll(async () => {
  const built = await run(['sh', 'scripts/bun.sh', 'packaging/build.ts', '--out', directory.path], {
    cwd: ROOT,
  });
  expect(built).toMatchObject({ exitCode: 0, stderr: '' });
  binary = built.stdout.trim();
  const file = join(directory.path, 'fanfare.json');
  await Bun.write(file, JSON.stringify(configOf(directory.path)));
  server = await spawnProgram([binary, 'serve'], directory.path, {
    FANFARE_REALTIME_THREADS: '2',
  });
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function run(command: readonly string[], { cwd = directory.path } = {}) {
  const child = Bun.spawn([...command], { cwd, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

describe('the binary', () => {
  it('prints its version, and the commit and the platform that it was made for', async () => {
    const { stdout, exitCode } = await run([binary, '--version']);
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith(`${versionOf(ROOT)} (commit `);
    expect(stdout).toContain(`, ${process.platform}-${process.arch})`);
  });

  it('loads neither .env nor bunfig.toml of the working directory', async () => {
    expect(existsSync(join(directory.path, '.env'))).toBe(true);
    expect(await run([binary, 'apps', 'list', '--config', 'none.json'])).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: 'The configuration in none.json cannot be used:\n  none.json: does not exist\n',
    });
  });

  it('does little more for a health check than to print its version', async () => {
    // Its processor time is measured, because on a busy machine every program waits.
    const quickest = async (...args: readonly string[]) => {
      const timesMs: number[] = [];
      for (let round = 0; round < 5; round++) {
        const child = Bun.spawn([binary, ...args], {
          cwd: directory.path,
          stdout: 'ignore',
          stderr: 'ignore',
        });
        await child.exited;
        timesMs.push(Number(child.resourceUsage()?.cpuTime.total) / 1000);
      }
      return Math.min(...timesMs);
    };
    const health = await quickest('health', '--config', 'none.json');
    // Commands that load more take six times as long.
    expect(health).toBeLessThan(3 * (await quickest('--version')));
  });

  it('runs with the same environment as from source', () => {
    const environment = readFileSync(`/proc/${server.process.pid}/environ`, 'utf8').split('\0');
    const launcher = readFileSync(join(ROOT, 'bin/fanfare'), 'utf8');
    const wanted = Array.from(
      launcher.matchAll(/\$\{([A-Z]\w+):=(\d+)\}/g),
      ([, name, value]) => `${name}=${value}`,
    );
    expect(wanted.length).toBe(4);
    expect(environment).toEqual(expect.arrayContaining(wanted));
  });

  it('carries an event from a backend to a client, over two threads', async () => {
    await using client = await RawClient.connect(server);
    await client.subscribe('news');
    const body = JSON.stringify({ name: 'e', channel: 'news', data: 'x' });
    const answer = await api(server, 'POST', `/apps/${APP.id}/events`, { body });
    expect(answer.status).toBe(200);
    expect(await client.receive()).toMatchObject({ event: 'e', channel: 'news', data: 'x' });
  });

  it('has the dashboard inside', async () => {
    const origin = `http://127.0.0.1:${server.adminPort}`;
    const page = await (await fetch(`${origin}/dashboard`)).text();
    const scripts = Array.from(page.matchAll(/\b(?:src|href)="([^"]+)"/g), ([, path]) => path);
    expect(scripts.length).toBeGreaterThan(1);
    for (const path of scripts) {
      const answer = await fetch(`${origin}${path}`);
      expect([path, answer.status]).toEqual([path, 200]);
    }
  });

  it('keeps its store, and its password beside it', async () => {
    const made = await admin(server, 'POST', '/apps', { body: { name: 'shop' } });
    expect(made.status).toBe(201);
    const listed = await run([binary, 'apps', 'list', '--json']);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'shop' }]);
  });

  it('names itself in hints', async () => {
    const { stderr } = await run([binary, 'serve', '--wrong']);
    expect(stderr).toEndWith(`\nSee: ${binary} serve --help\n`);
  });

  it('reloads on SIGHUP, and ends with 0 on SIGTERM', async () => {
    const reloaded = server.logsNext(/Reloaded/);
    server.process.kill('SIGHUP');
    await reloaded;
    expect(await server.stop()).toBe(0);
  });
});
