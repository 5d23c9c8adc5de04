import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { admin, makeApp, webhooksOf } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { fanfare } from '../cli/run-fanfare.ts';

/** Passwords and tokens in the URLs of webhooks. */

const PASSWORD = 'hunter2';
const TOKEN = 't0ken';
const EVENTS = ['channel_occupied'];

let server: Fanfare;
let endpoint: Bun.Server<undefined>;
const asked: string[] = [];
beforeAll(async () => {
  endpoint = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { search } = new URL(request.url);
      asked.push(`${request.headers.get('authorization')} ${search}`);
      return new Response(null, { status: 500 });
    },
  });
  server = await startFanfare({ config: { webhooks: { allowPrivateAddresses: true } } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await endpoint.stop(true);
});

const whole = (path = '/') =>
  `http://user:${PASSWORD}@127.0.0.1:${endpoint.port}${path}?token=${TOKEN}`;
const shown = (path = '/') => `http://***@127.0.0.1:${endpoint.port}${path}?token=***`;

const urlsOf = (json: unknown) =>
  (json as { webhooks: { url: string }[] }).webhooks.map(({ url }) => url);

function expectNoSecret(...texts: readonly string[]): void {
  for (const text of texts) {
    expect(text).not.toContain(PASSWORD);
    expect(text).not.toContain(TOKEN);
  }
}

const pushWebhook = (url: string) => ({
  url,
  events: ['v1.UserNotificationOpen'],
  secret: 'signing',
});

async function makeInstance(urls: readonly string[]): Promise<string> {
  const body = { webhooks: urls.map(pushWebhook) };
  const { json, status } = await admin(server, 'POST', '/instances', { body });
  expect(status).toBe(201);
  return (json as { id: string }).id;
}

describe('the URL of a webhook', () => {
  it('is shown without its secrets, except on request', async () => {
    const app = await makeApp(server, { webhooks: [{ url: whole(), events: EVENTS }] });
    const instance = await makeInstance([whole()]);
    for (const path of ['/apps', `/apps/${app.id}`, '/instances', `/instances/${instance}`]) {
      const { text } = await admin(server, 'GET', path);
      expect(text).toContain(shown());
      expectNoSecret(text);
      expect((await admin(server, 'GET', `${path}?secrets=true`)).text).toContain(whole());
    }
    for (const path of [`/apps/${app.id}`, `/instances/${instance}`]) {
      expectNoSecret((await admin(server, 'PATCH', path, { body: { name: 'x' } })).text);
    }
    expectNoSecret((await admin(server, 'POST', `/apps/${app.id}/disable`)).text);
  });

  it('is called with its secrets, which neither the webhook log nor the server log shows', async () => {
    const app = await makeApp(server, { webhooks: [{ url: whole(), events: EVENTS }] });
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    await client.subscribe('a');
    const [webhook] = await webhooksOf(server, `app=${app.id}&limit=1`, 1);
    await server.logged(/Webhook attempted/);
    expect(asked).toContain(`Basic ${btoa(`user:${PASSWORD}`)} ?token=${TOKEN}`);

    const list = await admin(server, 'GET', `/webhooks?app=${app.id}`);
    expect(list.text).toContain(shown());
    const details = await admin(server, 'GET', `/webhooks/${webhook?.id}`);
    const command = (...args: readonly string[]) =>
      fanfare(server.directory, [
        'webhooks',
        ...args,
        ...['--config', join(server.directory, 'config.json')],
        ...['--url', `http://127.0.0.1:${server.adminPort}`],
      ]);
    const listed = await command('list', '--app', app.id);
    expect(listed.stdout).toContain(shown());
    const described = await command('show', webhook?.id ?? '');
    expectNoSecret(list.text, details.text, listed.stdout, described.stdout, server.output.stderr);
  });

  it('keeps its secrets if it is sent back as it is shown', async () => {
    const app = await makeApp(server, {
      webhooks: [
        { url: whole(), events: EVENTS },
        { url: whole('/other'), events: EVENTS },
      ],
    });
    const { json } = await admin(server, 'GET', `/apps/${app.id}`);
    const { webhooks } = json as { webhooks: object[] };
    const body = { webhooks: webhooks.toReversed() };
    expect((await admin(server, 'PATCH', `/apps/${app.id}`, { body })).status).toBe(200);
    const after = await admin(server, 'GET', `/apps/${app.id}?secrets=true`);
    expect(urlsOf(after.json)).toEqual([whole('/other'), whole()]);

    const instance = await makeInstance([whole()]);
    const change = { webhooks: [{ ...pushWebhook(shown()), secret: 'another' }] };
    const path = `/instances/${instance}`;
    expect((await admin(server, 'PATCH', path, { body: change })).status).toBe(200);
    const changed = await admin(server, 'GET', `${path}?secrets=true`);
    expect(urlsOf(changed.json)).toEqual([whole()]);
  });

  it('is refused if its asterisks match no URL, or several', async () => {
    const app = await makeApp(server, {
      webhooks: [
        { url: `${whole()}1`, events: EVENTS },
        { url: `${whole()}2`, events: EVENTS },
      ],
    });
    const refused = async (method: string, path: string, url: string, why: string) => {
      const webhook = path.startsWith('/apps') ? { url, events: EVENTS } : pushWebhook(url);
      const answer = await admin(server, method, path, { body: { webhooks: [webhook] } });
      expect(answer).toMatchObject({
        status: 400,
        json: { field: 'webhooks[0].url', error: expect.stringContaining(why) },
      });
    };
    await refused('PATCH', `/apps/${app.id}`, shown(), 'several webhooks match');
    await refused('PATCH', `/apps/${app.id}`, shown('/other'), 'no existing webhook matches');
    await refused('POST', '/apps', shown(), 'no existing webhook matches');
    const instance = await makeInstance([whole()]);
    await refused(
      'PATCH',
      `/instances/${instance}`,
      shown('/other'),
      'no existing webhook matches',
    );
    await refused('POST', '/instances', shown(), 'no existing webhook matches');
    const after = await admin(server, 'GET', `/apps/${app.id}?secrets=true`);
    expect(urlsOf(after.json)).toEqual([`${whole()}1`, `${whole()}2`]);
  });

  it('without secrets is shown unchanged', async () => {
    const url = 'https://hooks.example.test/a/b';
    const app = await makeApp(server, { webhooks: [{ url, events: EVENTS }] });
    expect(urlsOf((await admin(server, 'GET', `/apps/${app.id}`)).json)).toEqual([url]);
  });
});

it('commands show URLs of webhooks with their secrets only with --secret', async () => {
  const app = await makeApp(server, { webhooks: [{ url: whole(), events: EVENTS }] });
  const instance = await makeInstance([whole()]);
  const run = (...args: readonly string[]) =>
    fanfare(server.directory, [...args, '--config', join(server.directory, 'config.json')]);
  for (const [kind, id] of [
    ['apps', app.id],
    ['instances', instance],
  ] as const) {
    for (const args of [
      [kind, 'show', id],
      [kind, 'show', id, '--json'],
      [kind, 'list', '--json'],
    ]) {
      const { stdout } = await run(...args);
      expect(stdout).toContain('***');
      expectNoSecret(stdout);
    }
    expect((await run(kind, 'show', id, '--secret')).stdout).toContain(whole());
    expect((await run(kind, 'show', id, '--secret', '--json')).stdout).toContain(whole());
  }
});
