import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { eventually } from '../../testing/eventually.ts';
import { temporaryDirectory } from '../cli/run-fanfare.ts';

const ROOT = join(import.meta.dir, '../..');

/** Each file costs time when npm unpacks and checks it. */
const FILES_MAX = 470;

/** The first example of a page with this text. */
const exampleOf = (page: string, text: string): string =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```js\n([\s\S]*?)^```$/gm)]
    .map(([, code = '']) => code)
    .find((code) => code.includes(text)) ?? '';

/** An app of somebody, with the package and the SDKs installed. */
const app = temporaryDirectory({
  'dashboard.mjs': `
    import { startFanfare } from 'fanfare/testing';
    const server = await startFanfare();
    const page = await (await fetch(server.admin.url + '/dashboard')).text();
    const paths = Array.from(page.matchAll(/\\b(?:src|href)="([^"]+)"/g), ([, path]) => path);
    const statuses = [];
    for (const path of paths) statuses.push((await fetch(server.admin.url + path)).status);
    await server.stop();
    console.log(JSON.stringify({ scripts: paths.length, statuses }));
  `,
  'app.test.mjs': exampleOf('docs/use/testing.md', 'app.test.mjs'),
  'devices.mjs': `
    import { startFanfare } from 'fanfare/testing';
    process.env.FANFARE_NOTHING_LIKE_IT = 'of another server';
    const { channels, push, instance, gateways, stop } = await startFanfare({ fakeGateways: true });
    const platforms = ['apns', 'fcm', 'web'];
    const devices = await Promise.all(
      platforms.map((platform) => gateways.register(platform, { interests: ['a'], userId: 'ann' })),
    );
    await gateways.script({ gateway: 'fcm', to: devices[1].token, status: 404, error: 'UNREGISTERED' });
    const publish = { users: ['ann'], apns: { aps: { alert: 'Hi' } }, fcm: { data: { a: 'b' } }, web: { data: { a: 'b' } } };
    await fetch(push.url + '/publish_api/v1/instances/' + instance.id + '/publishes/users', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + instance.secretKey, 'content-type': 'application/json' },
      body: JSON.stringify(publish),
    });
    const arrived = await Promise.all(devices.map((device) => device.nextNotification()));
    const late = await devices[0].nextNotification({ timeoutMs: 50 }).catch((error) => error.message);
    await stop();
    await stop();
    console.log(JSON.stringify({ url: channels.url, arrived: arrived.map(({ gateway, status }) => [gateway, status]), late }));
  `,
  'typed.mts': `
    import { startFanfare } from 'fanfare/testing';
    export async function test(): Promise<string> {
      const { app, channels, push, instance, stop } = await startFanfare({ config: { channels: {} } });
      await stop();
      return app.key + instance.secretKey + channels.host + String(push.port);
    }
    export async function pushed(): Promise<number | null> {
      await using server = await startFanfare({ fakeGateways: true });
      const device = await server.gateways.register('web', { interests: ['a'], userId: 'ann' });
      await server.gateways.script({ gateway: 'web', to: device.token, act: 'hang' });
      return (await device.nextNotification({ timeoutMs: 10 })).status;
    }
  `,
  'typed.cts': `
    import testing = require('fanfare/testing');
    export const started: Promise<testing.FanfareServer> = testing.startFanfare();
  `,
  'page.ts': `
    declare const reload: (channel: string) => void;
    declare const show: (data: unknown) => void;
    ${exampleOf('docs/use/history.md', 'resume(pusher')}
  `,
  'wrong.mjs': `
    import { startFanfare } from 'fanfare/testing';
    await startFanfare({ config: { chanels: {} } }).catch((error) => console.log(error.message));
  `,
  'running.mjs': `
    import { startFanfare } from 'fanfare/testing';
    const { admin, gateways } = await startFanfare({ fakeGateways: true });
    console.log(JSON.stringify([admin.url + '/healthz', gateways.url + '/settings']));
    setInterval(() => undefined, 1000);
  `,
  // As Jest runs it.
  'forgotten.cjs': `
    const { startFanfare } = require('fanfare/testing');
    startFanfare({ config: { channels: { apps: [] }, push: { instances: [] } } }).then((server) =>
      console.log(JSON.stringify({ app: server.app, instance: server.instance, url: server.channels.url })),
    );
  `,
});
const modules = join(app.path, 'node_modules');
const temporary = join(app.path, 'tmp');
let files: readonly string[] = [];

beforeAll(async () => {
  const packed = await run(
    ['sh', 'scripts/bun.sh', 'packaging/package.ts', '--only', 'npm', '--out', app.path],
    ROOT,
  );
  expect(packed).toMatchObject({ exitCode: 0, stderr: '' });
  mkdirSync(join(modules, 'fanfare'), { recursive: true });
  mkdirSync(temporary);
  const archive = packed.stdout.trim();
  await run(['tar', 'xzf', archive, '--strip-components=1', '-C', join(modules, 'fanfare')], ROOT);
  // What npm would put beside it.
  for (const name of ['bun', '@oven', '@pusher', 'pusher', 'pusher-js']) {
    const [scope] = name.split('/');
    if (scope !== undefined && scope !== name) mkdirSync(join(modules, scope), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  files = [...new Glob('**/*').scanSync({ cwd: join(modules, 'fanfare'), dot: true })];
});
afterAll(() => app[Symbol.dispose]());

async function run(command: readonly string[], cwd: string) {
  const child = Bun.spawn([...command], {
    cwd,
    env: {
      ...process.env,
      TMPDIR: cwd === app.path ? temporary : (process.env['TMPDIR'] ?? '/tmp'),
    },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { stdout, stderr, exitCode };
}

/** Checks the types of files of the app as the compiler of TypeScript does, for this kind of modules. */
function checkTypes(module: string, files: readonly string[], ...more: readonly string[]) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--module', module, '--target', 'es2022', ...more];
  return run([tsc, ...options, '--types', '', ...files], app.path);
}

describe('the package for npm', () => {
  it('holds the program and its documentation in at most 470 files, and no tests or sources', () => {
    expect(files.length).toBeLessThanOrEqual(FILES_MAX);
    for (const needed of [
      'bin/fanfare',
      'bundle/main.js',
      'bunfig.toml',
      'LICENSE',
      'docs/reference/cli.md',
    ]) {
      expect(files).toContain(needed);
    }
    expect(
      files.filter((file) => /\.(test|fixture)\.|^(src|test|testing|bench)\//.test(file)),
    ).toEqual([]);
  });

  it('may be published, needs no package but Bun, and contains its commit', async () => {
    const manifest = await Bun.file(join(modules, 'fanfare/package.json')).json();
    expect(manifest).not.toHaveProperty('private');
    expect(manifest).not.toHaveProperty('devDependencies');
    expect(Object.keys(manifest.dependencies)).toEqual(['bun']);
    expect(manifest).toMatchObject({
      publishConfig: { access: 'public', provenance: true },
      repository: { type: 'git', url: expect.stringMatching(/^git\+https:\/\/.*\.git$/) },
      bugs: expect.stringContaining('/issues'),
      homepage: expect.stringContaining('https://'),
      author: expect.any(String),
      keywords: expect.arrayContaining(['pusher', 'websocket']),
    });
    const { stdout } = await run(
      ['sh', join(modules, 'fanfare/bin/fanfare'), '--version'],
      app.path,
    );
    expect(stdout).toStartWith(`${manifest.version} (commit `);
    expect(stdout).toMatch(/ \(commit [0-9a-f]{12}(?:-modified)?, /);
  });

  it.each([
    ['node', '--test'],
    [process.execPath, 'test'],
  ])('runs the test of testing.md as it stands: %s %s', async (runtime, command) => {
    const ended = await run([runtime, command, 'app.test.mjs'], app.path);
    expect(ended.exitCode).toBe(0);
    expect(ended.stdout + ended.stderr).toMatch(/\bpass 2\b|\b2 pass\b/);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('registers devices of every platform that get notifications, or what a test has scripted', async () => {
    const ended = await run(['node', 'devices.mjs'], app.path);
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    const { url, ...shown } = JSON.parse(ended.stdout);
    expect(shown).toEqual({
      arrived: [
        ['apns', 200],
        ['fcm', 404],
        ['web', 201],
      ],
      late: 'No notification arrived within 50 ms',
    });
    await expect(fetch(url)).rejects.toThrow();
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('has types for callers without a library of types', async () => {
    const files = ['typed.mts', 'typed.cts'];
    const options = ['--lib', 'esnext'];
    expect(await checkTypes('nodenext', files, ...options)).toMatchObject({
      exitCode: 0,
      stdout: '',
    });
  });

  it.each(['nodenext', 'preserve'])(
    'brings the plugin for pusher-js to a page that is type-checked and bundled, as history.md says: %s',
    async (module) => {
      // The types of pusher-js are not this package's to mend.
      const ended = await checkTypes(module, ['page.ts'], '--skipLibCheck');
      expect(ended).toMatchObject({ exitCode: 0, stdout: '' });
    },
  );

  it('adds about 1 kB to a page with the plugin, and nothing of the server', async () => {
    const [page, plain] = [join(app.path, 'page.ts'), join(app.path, 'plain.ts')];
    const code = await Bun.file(page).text();
    await Bun.write(plain, code.replace(/.*resume.*\n/g, ''));
    const [resuming = '', without = ''] = await Promise.all(
      [page, plain].map(async (file) => {
        const { outputs } = await Bun.build({ entrypoints: [file], minify: true });
        return (await outputs[0]?.text()) ?? '';
      }),
    );
    const hasPlugin = (bundle: string) => bundle.includes('resume_after_id');
    expect([without, resuming].map(hasPlugin)).toEqual([false, true]);
    const added = Bun.gzipSync(resuming).length - Bun.gzipSync(without).length;
    expect(added).toBeWithin(300, 1500);
  });

  it('has the dashboard inside', async () => {
    const { stdout, exitCode } = await run(['node', 'dashboard.mjs'], app.path);
    const { scripts, statuses } = JSON.parse(stdout);
    expect(exitCode).toBe(0);
    expect(scripts).toBeGreaterThan(1);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('reports why a server does not start', async () => {
    const { stdout } = await run(['node', 'wrong.mjs'], app.path);
    expect(stdout).toStartWith('Fanfare did not start: ');
    expect(stdout).toContain('chanels: unknown setting, did you mean "channels"?');
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('ends a server that a test has forgotten, with the test', async () => {
    const { stdout, exitCode } = await run(['node', 'forgotten.cjs'], app.path);
    const { url, ...made } = JSON.parse(stdout);
    expect({ exitCode, ...made }).toEqual({ exitCode: 0, app: null, instance: null });
    await expect(fetch(url)).rejects.toThrow();
    expect(existsSync(temporary) && readdirSync(temporary)).toEqual([]);
  });

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
    'ends the server of tests that %s ends',
    async (signal) => {
      const env = { ...process.env, TMPDIR: temporary };
      const tests = Bun.spawn(['node', 'running.mjs'], { cwd: app.path, env, stdout: 'pipe' });
      const reader = tests.stdout.getReader();
      const { value } = await reader.read();
      const urls: string[] = JSON.parse(new TextDecoder().decode(value));
      for (const url of urls) expect((await fetch(url)).status).toBe(200);
      tests.kill(signal);
      await tests.exited;
      await eventually(
        () => readdirSync(temporary),
        (left) => left.length === 0,
      );
      for (const url of urls) await expect(fetch(url)).rejects.toThrow();
    },
  );
});
