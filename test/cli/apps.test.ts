import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { TestApp } from '../../testing/servers/test-app.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

interface ShownApp {
  readonly id: string;
  readonly keys: readonly { readonly key: string; readonly secret: string }[];
}

describe('fanfare apps, beside a running server', () => {
  const directory = temporaryDirectory();
  let server: Fanfare;
  beforeAll(async () => {
    server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  /** Creates an app, and waits until the server serves it. */
  async function created(...args: string[]): Promise<TestApp> {
    const { stdout } = await fanfare(directory.path, ['apps', 'create', '--json', ...args]);
    const { id, keys }: ShownApp = JSON.parse(stdout);
    const app = new TestApp(server, { id, key: '', secret: '', ...keys[0] });
    await answers(app, 200);
    return app;
  }

  /** Settles when a request of an app is answered with this status: the server looks for changes twice a second. */
  async function answers(app: TestApp, expected: number): Promise<void> {
    await eventually(
      () => app.api('GET', '/channels'),
      ({ status }) => status === expected,
    );
  }

  it('makes an app that the server serves', async () => {
    const app = await created('--name', 'shop', '--client-events');
    await using client = await app.connect();
    await client.subscribe('news');

    const listed = await fanfare(directory.path, ['apps', 'list']);
    expect(listed.stdout).toContain(`${app.id}  enabled   ${app.key}  shop`);
    expect(listed.stdout).not.toContain(app.secret);
    const shown = await fanfare(directory.path, ['apps', 'show', app.id]);
    expect(shown.stdout).toContain('clientEvents  true');
    expect(shown.stdout).not.toContain(app.secret);
    expect(await server.logged(/Apps changed/)).toContain(`"created":"${app.id}"`);
    expect(server.output.stderr).not.toContain(app.secret);
  });

  it('closes the connections of a disabled app with 4003 and answers its requests with 403', async () => {
    const app = await created();
    await using client = await app.connect();

    expect(await fanfare(directory.path, ['apps', 'disable', app.id])).toMatchObject({
      exitCode: 0,
    });
    expect(await client.receive()).toEqual({
      event: 'pusher:error',
      data: { code: 4003, message: 'Application disabled' },
    });
    expect(await client.closed).toMatchObject({ code: 4003 });
    expect((await app.api('GET', '/channels')).status).toBe(403);
    await using refused = await RawClient.open(server, { path: pathOf(7, app.key) });
    expect(await refused.closed).toMatchObject({ code: 4003 });

    await fanfare(directory.path, ['apps', 'enable', app.id]);
    await answers(app, 200);
  });

  it('shows when keys were last used, and says so before one is removed', async () => {
    const app = await created();
    const at = ['--url', `http://127.0.0.1:${server.adminPort}`];
    const show = async (...args: string[]) =>
      (await fanfare(directory.path, ['apps', 'show', app.id, ...args])).stdout;
    expect(await show(...at)).toMatch(/used {4}\d+ seconds? ago/);
    expect(await show('--url', 'http://127.0.0.1:1')).toContain(
      'used    unknown: http://127.0.0.1:1 does not answer',
    );
    await fanfare(directory.path, ['apps', 'rotate', app.id]);
    const { stdout } = await fanfare(directory.path, ['apps', 'show', app.id, '--json', ...at]);
    const [old] = JSON.parse(stdout).keyUses.keys;
    expect(old).toMatchObject({ key: app.key, lastRequestAtMs: expect.any(Number) });
    await using client = await app.connect();
    const removed = await fanfare(directory.path, [
      ...['apps', 'rotate', app.id, '--remove', app.key],
      ...at,
    ]);
    expect(removed).toMatchObject({
      exitCode: 0,
      stderr:
        'Warning: Last use of the removed key: now, by 1 open connection. Who still has it is refused from now on.\n',
    });
    await client[Symbol.asyncDispose]();
    expect(await show(...at)).toMatch(/used {4}not since the last server started, at 20/);
  });

  it('lets two pairs be valid while they are rotated, and one after the old one is removed', async () => {
    const app = await created();
    const rotated = await fanfare(directory.path, ['apps', 'rotate', app.id, '--json']);
    const [, added] = (JSON.parse(rotated.stdout) as ShownApp).keys;
    expect(rotated.stdout).not.toContain(app.secret);
    if (added === undefined) throw new Error('No key was added');
    const rotatedApp = new TestApp(server, { id: app.id, ...added });
    await answers(rotatedApp, 200);
    await answers(app, 200);

    await fanfare(directory.path, ['apps', 'rotate', app.id, '--remove', app.key]);
    await answers(app, 401);
    await answers(rotatedApp, 200);

    const last = await fanfare(directory.path, ['apps', 'rotate', app.id, '--remove', added.key]);
    expect(last).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the only key') });
  });

  it('closes the connections of a deleted app, and refuses its key', async () => {
    const app = await created();
    await using client = await app.connect();
    await fanfare(directory.path, ['apps', 'delete', app.id]);
    expect(await client.closed).toMatchObject({ code: 4003 });
    const answer = await app.api('GET', '/channels');
    expect([answer.status, await answer.text()]).toEqual([401, 'Unknown auth_key']);
  });

  it('names an app that does not exist', async () => {
    for (const action of ['show', 'rotate', 'disable', 'enable', 'delete']) {
      const ended = await fanfare(directory.path, ['apps', action, '42']);
      expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no app 42') });
      const bare = await fanfare(directory.path, ['apps', action]);
      expect(bare).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('Its id is missing'),
      });
    }
  });
});

describe('apps of the configuration', () => {
  const APP = {
    FANFARE_APP_ID: '1',
    FANFARE_APP_KEY: 'app-key',
    FANFARE_APP_SECRET: 'app-secret',
  };
  const yaml = 'channels: { apps: [{ id: 7, keys: [{ key: k, secret: hidden }] }] }';

  it('are said to be there by the commands that manage the store, which does not have them', async () => {
    using directory = temporaryDirectory({ 'fanfare.yaml': yaml });
    const path = `${directory.path}/fanfare.yaml`;
    const listed = await fanfare(directory.path, ['apps', 'list'], APP);
    expect(listed.stdout).toEndWith(
      `The store has no app.\nConfigured in ${path}: 7\nConfigured in the environment (FANFARE_APP_SECRET): 1\n`,
    );
    const shown = await fanfare(directory.path, ['apps', 'show', '1', '--secret'], APP);
    expect(shown).toMatchObject({
      exitCode: 1,
      stderr:
        'fanfare: There is no app 1 in the store\nIt is configured in the environment (FANFARE_APP_SECRET): see and change it there.\n',
    });
    await fanfare(directory.path, ['apps', 'create'], APP);
    const both = await fanfare(directory.path, ['apps', 'list'], APP);
    expect(both.stdout).toContain('enabled');
    expect(both.stdout).toContain(`Configured in ${path}: 7\n`);
    expect(listed.stdout + shown.stderr + both.stdout).not.toMatch(/hidden|app-secret/);
  });

  it('have their place in what a server prints when it starts, and a warning for quotes around a secret', async () => {
    using directory = temporaryDirectory({ 'fanfare.yaml': yaml });
    const environment = { ...FREE_PORTS, ...APP, FANFARE_APP_SECRET: '"app-secret"' };
    await using server = await spawnFanfare(['serve'], directory.path, environment);
    expect(server.output.stdout).toContain(
      `App 7\n  key     k\n  secret  as configured in ${directory.path}/fanfare.yaml\n`,
    );
    expect(server.output.stdout).toContain(
      'App 1\n  key     app-key\n  secret  as configured in the environment (FANFARE_APP_SECRET)\n',
    );
    const warned = await server.logged(/A setting is probably wrong/);
    expect(warned).toContain('FANFARE_APP_SECRET (channels.apps[1].keys[0].secret)');
    expect(server.output.stderr).not.toContain('app-secret');
  });
});
