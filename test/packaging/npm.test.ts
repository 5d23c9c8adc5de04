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
  'test.mjs': `
    import assert from 'node:assert';
    import { existsSync, readdirSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { startFanfare } from 'fanfare/testing';
    import Pusher from 'pusher';
    import PusherJs from 'pusher-js';

    process.env.FANFARE_NOTHING_LIKE_IT = 'of another server';
    const startedAt = performance.now();
    const server = await startFanfare();
    const readyMs = performance.now() - startedAt;
    const { channels, app } = server;
    const client = new PusherJs(app.key, {
      wsHost: channels.host, wsPort: channels.port, forceTLS: false, enabledTransports: ['ws'], cluster: 'local',
    });
    const channel = client.subscribe('orders');
    await new Promise((resolve) => channel.bind('pusher:subscription_succeeded', resolve));
    const event = new Promise((resolve) => channel.bind('created', resolve));
    const backend = new Pusher({
      appId: app.id, key: app.key, secret: app.secret, host: channels.host, port: String(channels.port), useTLS: false,
    });
    await backend.trigger('orders', 'created', { id: 17 });
    const data = await event;
    client.disconnect();
    const publish = await fetch(
      server.push.url + '/publish_api/v1/instances/' + server.instance.id + '/publishes/interests',
      {
        method: 'POST',
        headers: { authorization: 'Bearer ' + server.instance.secretKey, 'content-type': 'application/json' },
        body: JSON.stringify({ interests: ['hello'], web: { notification: { title: 'Hello' } } }),
      },
    );
    await server.stop();
    await server.stop();
    console.log(JSON.stringify({ data, publish: publish.status, url: channels.url, readyMs }));
  `,
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
  'typed.mts': `
    import { startFanfare } from 'fanfare/testing';
    export async function test(): Promise<string> {
      const { app, channels, push, instance, stop } = await startFanfare({ config: { channels: {} } });
      await stop();
      return app.key + instance.secretKey + channels.host + String(push.port);
    }
  `,
  'page.ts': `
    declare const reload: (channel: string) => void;
    declare const show: (data: unknown) => void;
    ${exampleOf('docs/history.md', 'resume(pusher')}
  `,
  'wrong.mjs': `
    import { startFanfare } from 'fanfare/testing';
    await startFanfare({ config: { chanels: {} } }).catch((error) => console.log(error.message));
  `,
  'running.mjs': `
    import { startFanfare } from 'fanfare/testing';
    console.log((await startFanfare()).admin.url);
    setInterval(() => undefined, 1000);
  `,
  'forgotten.mjs': `
    import { startFanfare } from 'fanfare/testing';
    const server = await startFanfare({ config: { channels: { apps: [] }, push: { instances: [] } } });
    console.log(JSON.stringify({ app: server.app, instance: server.instance, url: server.channels.url }));
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
  for (const name of ['bun', '@oven', 'pusher', 'pusher-js']) {
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

/** Checks the types of a file of the app as the compiler of TypeScript does, for this kind of modules. */
function checkTypes(module: string, file: string, ...more: readonly string[]) {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = ['--noEmit', '--strict', '--module', module, '--target', 'es2022', ...more];
  return run([tsc, ...options, '--types', '', file], app.path);
}

describe('the package for npm', () => {
  it('holds the program and its documentation in at most 470 files, and no tests or sources', () => {
    expect(files.length).toBeLessThanOrEqual(FILES_MAX);
    for (const needed of [
      'bin/fanfare',
      'bundle/main.js',
      'bunfig.toml',
      'LICENSE',
      'docs/cli.md',
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
    expect(stdout).toMatch(/^\d+\.\d+\.\d+ \(commit [0-9a-f]{12}(?:-modified)?, /);
  });

  it.each(['node', process.execPath])(
    'starts a server for a test, and leaves nothing behind: %s',
    async (runtime) => {
      const ended = await run([runtime, 'test.mjs'], app.path);
      expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
      const { data, publish, url } = JSON.parse(ended.stdout);
      expect({ data, publish }).toEqual({ data: { id: 17 }, publish: 200 });
      await expect(fetch(url)).rejects.toThrow();
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  it('has types for callers without a library of types', async () => {
    expect(await checkTypes('nodenext', 'typed.mts')).toMatchObject({ exitCode: 0, stdout: '' });
  });

  it.each(['nodenext', 'preserve'])(
    'brings the plugin for pusher-js to a page that is type-checked and bundled, as history.md says: %s',
    async (module) => {
      // The types of pusher-js are not this package's to mend.
      const ended = await checkTypes(module, 'page.ts', '--skipLibCheck');
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
    const { stdout, exitCode } = await run(['node', 'forgotten.mjs'], app.path);
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
      const url = new TextDecoder().decode(value).trim();
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      tests.kill(signal);
      await tests.exited;
      await eventually(
        () => readdirSync(temporary),
        (left) => left.length === 0,
      );
      await expect(fetch(url)).rejects.toThrow();
    },
  );
});
