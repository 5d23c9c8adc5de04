import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { makeApp, webhooksOf } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { fanfare } from './run-fanfare.ts';

const PASSWORD = 'geheim';
let server: Fanfare;
let endpoint: WebhookEndpoint;
beforeAll(async () => {
  endpoint = startWebhookEndpoint();
  server = await startFanfare({ config: { webhooks: { allowPrivateAddresses: true } } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  endpoint[Symbol.dispose]();
});

/** Makes an app and one webhook of it that was delivered. */
async function delivered(to: Fanfare) {
  const app = await makeApp(to, { webhooks: [endpoint.webhook] });
  await using client = await RawClient.connect(to, { path: pathOf(7, app.key) });
  await client.subscribe('a');
  const [webhook] = await webhooksOf(to, `app=${app.id}&state=delivered`, 1);
  return { app, id: webhook?.id ?? '' };
}

/** Runs a command beside a server, with its configuration. */
const beside = (to: Fanfare, args: readonly string[], environment = {}) =>
  fanfare(
    to.directory,
    ['webhooks', ...args, '--config', join(to.directory, 'config.json')],
    environment,
  );

/** Runs a command through the admin API of a server, whose port is not in its configuration. */
const through = (to: Fanfare, args: readonly string[]) =>
  beside(to, args, { FANFARE_ADMIN_PORT: String(to.adminPort) });

describe('fanfare webhooks', () => {
  it('lists, shows and replays through the running server', async () => {
    const { app, id } = await delivered(server);
    const url = `http://127.0.0.1:${server.adminPort}/`;
    for (const run of [
      (args: readonly string[]) => through(server, args),
      (args: readonly string[]) => beside(server, [...args, '--url', url]),
    ]) {
      const list = await run(['list', '--app', app.id, '--state', 'delivered']);
      expect(list).toMatchObject({ exitCode: 0, stderr: '' });
      expect(list.stdout).toContain(`${id}  20`);
      expect(list.stdout).toContain(`app ${app.id}  `);
      const json = await run(['list', '--app', app.id, '--limit', '1', '--json']);
      expect(JSON.parse(json.stdout)).toHaveLength(1);

      const shown = await run(['show', id]);
      expect(shown.stdout).toContain(`Webhook ${id} of app ${app.id}: delivered, HTTP 200`);
      expect(shown.stdout).toContain('channel_occupied');
      expect(shown.stdout).toContain('"an answer"');

      const before = endpoint.bodies.length;
      expect(await run(['replay', id])).toEqual({
        exitCode: 0,
        stdout: `Webhook ${id} will be sent again.\n`,
        stderr: '',
      });
      await webhooksOf(server, `app=${app.id}&state=waiting`, 0);
      expect(endpoint.bodies.length).toBeGreaterThan(before);
    }
  });

  it('reads the store of a stopped server, which sends replayed requests at its next start', async () => {
    await using first = await startFanfare({
      config: { webhooks: { allowPrivateAddresses: true } },
    });
    const { app, id } = await delivered(first);
    await first.stop();

    // Without a running server, with and without a port in the configuration.
    for (const run of [beside, through]) {
      const list = await run(first, ['list', '--state', 'delivered', '--app', app.id, '--json']);
      expect(JSON.parse(list.stdout)).toContainEqual(expect.objectContaining({ id, app: app.id }));
      const shown = await run(first, ['show', id, '--json']);
      expect(JSON.parse(shown.stdout)).toMatchObject({ id, attemptLog: [{ status: 200 }] });
    }
    expect(await beside(first, ['replay', id, '--json'])).toMatchObject({
      exitCode: 0,
      stdout: `${JSON.stringify({ id, state: 'waiting' })}\n`,
    });
    expect(await beside(first, ['replay', id])).toMatchObject({
      exitCode: 1,
      stderr: `fanfare: webhook ${id} is still waiting to be delivered\n`,
    });
    await using second = await restart(first);
    const again = await webhooksOf(second, `app=${app.id}&state=delivered`, 2);
    expect(again).toContainEqual(expect.objectContaining({ id, attempts: 2 }));
  });

  it('uses the password of the configuration, and names its source when it is wrong', async () => {
    await using shut = await startFanfare({ config: { admin: { port: 0, password: PASSWORD } } });
    const environment = { FANFARE_ADMIN_PORT: String(shut.adminPort) };
    expect(await beside(shut, ['list'], environment)).toMatchObject({
      exitCode: 0,
      stdout: 'There is no such webhook request.\n',
    });
    const wrong = { ...environment, FANFARE_ADMIN_PASSWORD: 'wrong' };
    expect(await beside(shut, ['list'], wrong)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('admin.password of the configuration'),
    });
  });

  it('explains what it cannot do', async () => {
    for (const [args, exitCode, words] of [
      [['show', 'nothing'], 1, 'there is no webhook nothing'],
      [['replay', 'nothing'], 1, 'there is no webhook nothing'],
      [['show'], 2, 'Its id is missing'],
      [['replay', 'a', 'b'], 2, 'unexpected "b"'],
      [['list', 'x'], 2, 'unexpected "x"'],
      [['list', '--state', 'lost'], 2, '--state must be one of waiting, delivered, failed'],
      [['list', '--limit', '0'], 2, '--limit must be a whole number from 1 to 1000'],
      [['list', '--url', 'here'], 2, '--url must be like http://127.0.0.1:6003'],
      [['list', '--url', 'http://127.0.0.1:1'], 1, 'http://127.0.0.1:1 does not answer'],
      [['list', '--url', `http://127.0.0.1:${server.port}`], 1, 'is not an admin API of Fanfare'],
    ] as const) {
      expect(await through(server, args)).toMatchObject({
        exitCode,
        stderr: expect.stringContaining(words),
      });
    }
  });
});
