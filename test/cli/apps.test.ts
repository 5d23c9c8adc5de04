import { describe, expect, it } from 'bun:test';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api } from '../../testing/clients/sign.ts';
import { spawnFanfare } from '../../testing/servers/fanfare.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

interface ShownApp {
  readonly id: string;
  readonly keys: readonly { readonly key: string; readonly secret: string }[];
}

async function create(
  directory: string,
  ...args: string[]
): Promise<{ id: string; key: string; secret: string }> {
  const { stdout } = await fanfare(directory, ['apps', 'create', '--json', ...args]);
  const app: ShownApp = JSON.parse(stdout);
  return { id: app.id, key: app.keys[0]?.key ?? '', secret: app.keys[0]?.secret ?? '' };
}

describe('fanfare apps, beside a running server', () => {
  it('makes an app that the server then serves', async () => {
    using directory = temporaryDirectory();
    await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
    const app = await create(directory.path, '--name', 'shop', '--client-events');
    await expectSoon(
      async () => (await api(server, 'GET', `/apps/${app.id}/channels`, app)).status,
      200,
    );
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    await client.subscribes('news');

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
    using directory = temporaryDirectory();
    const app = await create(directory.path);
    await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });

    expect(await fanfare(directory.path, ['apps', 'disable', app.id])).toMatchObject({
      exitCode: 0,
    });
    expect(await client.hears()).toEqual({
      event: 'pusher:error',
      data: { code: 4003, message: 'Application disabled' },
    });
    expect(await client.closed).toMatchObject({ code: 4003 });
    expect((await api(server, 'GET', `/apps/${app.id}/channels`, app)).status).toBe(403);
    await using refused = await RawClient.open(server, { path: pathOf(7, app.key) });
    expect(await refused.closed).toMatchObject({ code: 4003 });

    await fanfare(directory.path, ['apps', 'enable', app.id]);
    await expectSoon(
      async () => (await api(server, 'GET', `/apps/${app.id}/channels`, app)).status,
      200,
    );
  });

  it('lets two pairs be valid while they are rotated, and one after the old one is removed', async () => {
    using directory = temporaryDirectory();
    const app = await create(directory.path);
    const rotated = await fanfare(directory.path, ['apps', 'rotate', app.id, '--json']);
    const [, added] = (JSON.parse(rotated.stdout) as ShownApp).keys;
    if (added === undefined) throw new Error('No key was added');
    await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
    const path = `/apps/${app.id}/channels`;
    expect((await api(server, 'GET', path, app)).status).toBe(200);
    expect((await api(server, 'GET', path, added)).status).toBe(200);

    await fanfare(directory.path, ['apps', 'rotate', app.id, '--remove', app.key]);
    await expectSoon(async () => (await api(server, 'GET', path, app)).status, 401);
    expect((await api(server, 'GET', path, added)).status).toBe(200);

    const last = await fanfare(directory.path, ['apps', 'rotate', app.id, '--remove', added.key]);
    expect(last).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the only key') });
  });

  it('ends the connections of an app that is deleted, and does not know its key any more', async () => {
    using directory = temporaryDirectory();
    const app = await create(directory.path);
    await using server = await spawnFanfare(['serve'], directory.path, FREE_PORTS);
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    await fanfare(directory.path, ['apps', 'delete', app.id]);
    expect(await client.closed).toMatchObject({ code: 4003 });
    const answer = await api(server, 'GET', `/apps/${app.id}/channels`, app);
    expect([answer.status, await answer.text()]).toEqual([401, 'Unknown auth_key']);
  });

  it('names the app that it does not have', async () => {
    using directory = temporaryDirectory();
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

/** Asks until the answer is the one expected; the server looks at its store twice a second. */
async function expectSoon<T>(ask: () => Promise<T>, expected: T): Promise<void> {
  const deadline = Date.now() + 10_000;
  let answer = await ask();
  while (answer !== expected && Date.now() < deadline) answer = await ask();
  expect(answer === expected).toBe(true);
}
