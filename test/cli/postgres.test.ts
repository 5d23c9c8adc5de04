import { describe, expect, it } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { admin, makeApp, webhooksOf } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api } from '../../testing/clients/sign.ts';
import { throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, spawnFanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { FREE_PORTS, fanfare, temporaryDirectory } from './run-fanfare.ts';

interface Pair {
  readonly id: string;
  readonly key: string;
  readonly secret: string;
}

/** The app that the first start made. */
async function firstApp(
  { output: { stdout }, directory }: Fanfare,
  environment: Readonly<Record<string, string>>,
): Promise<Pair> {
  const field = (text: string, pattern: RegExp) => pattern.exec(text)?.[1] ?? '';
  const id = field(stdout, /app id +(\d+)$/m);
  const key = field(stdout, /^ +key +([0-9a-f]{20})$/m);
  const shown = await fanfare(directory, ['apps', 'show', id, '--secret'], environment);
  return { id, key, secret: field(shown.stdout, /\b([0-9a-f]{40})\b/) };
}

/** Expects that a client of an app gets an event of its backend. */
async function talks(server: Fanfare, app: Pair, channel = 'news'): Promise<void> {
  await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
  await client.subscribe(channel);
  const body = JSON.stringify({ name: 'e', channel, data: 'x' });
  const answer = await api(server, 'POST', `/apps/${app.id}/events`, { ...app, body });
  expect(answer.status).toBe(200);
  expect(await client.receive()).toMatchObject({ event: 'e', data: 'x' });
}

/** Settles when a server serves an app: it looks for changes of the store twice a second. */
async function serves(server: Fanfare, app: Pair): Promise<void> {
  const ask = () => api(server, 'GET', `/apps/${app.id}/channels`, app);
  await eventually(ask, ({ status }) => status === 200);
}

describe('a server with its store in PostgreSQL', () => {
  it('creates its first app, and keeps it across a restart', async () => {
    await using store = await throwAwayPostgres();
    using directory = temporaryDirectory();
    const environment = { ...FREE_PORTS, FANFARE_STORE_URL: store.url };
    await using first = await spawnFanfare(['serve'], directory.path, environment);
    const app = await firstApp(first, environment);
    expect(app.id).toMatch(/^\d+$/);
    await talks(first, app);
    const ready = await admin(first, 'GET', '//readyz');
    expect(ready.text).toBe('ready\n');
    expect(await first.stop()).toBe(0);

    await using second = await spawnFanfare(['serve'], directory.path, environment);
    expect(second.output.stdout).toContain(`App ${app.id}`);
    expect(second.output.stdout).not.toContain(app.secret);
    await talks(second, app);
    expect(await second.stop()).toBe(0);
    expect(first.output.stderr + second.output.stderr).not.toMatch(/error/i);
  });

  it('creates one first app for two servers that start at the same time', async () => {
    await using store = await throwAwayPostgres();
    using directory = temporaryDirectory();
    const environment = { ...FREE_PORTS, FANFARE_STORE_URL: store.url };
    await using parts = new AsyncDisposableStack();
    const servers = await Promise.all(
      [1, 2].map(() => spawnFanfare(['serve'], directory.path, environment)),
    );
    for (const server of servers) parts.use(server);
    const apps = await Promise.all(servers.map((server) => firstApp(server, environment)));
    const printed = apps.filter(({ id }) => id !== '');
    expect(printed).toHaveLength(1);
    for (const server of servers) for (const app of printed) await talks(server, app);

    // Both see changes of one of them, or of the command line.
    const { stdout } = await fanfare(directory.path, ['apps', 'create', '--json'], environment);
    const created = JSON.parse(stdout) as { id: string; keys: { key: string; secret: string }[] };
    const app = { id: created.id, key: '', secret: '', ...created.keys[0] };
    for (const server of servers) {
      await serves(server, app);
      await talks(server, app);
    }
    for (const [asked, other] of [servers, servers.toReversed()]) {
      if (asked === undefined || other === undefined) continue;
      const made = await makeApp(asked);
      await talks(asked, made);
      await serves(other, made);
      await talks(other, made);
    }
  });

  it('keeps its admin password in data/ of the working directory', async () => {
    await using store = await throwAwayPostgres();
    using directory = temporaryDirectory();
    const environment = { ...FREE_PORTS, FANFARE_STORE_URL: store.url };
    await using server = await spawnFanfare(['serve'], directory.path, environment);
    const file = join(directory.path, 'data/admin-password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const shown = await fanfare(directory.path, ['admin', 'password'], environment);
    expect(shown.stdout.trim()).toBe(readFileSync(file, 'utf8').trim());
    const headers = { authorization: `Bearer ${shown.stdout.trim()}` };
    expect((await admin(server, 'GET', '/apps', { headers })).status).toBe(200);
  });

  it('delivers webhooks and counts usage across a restart', async () => {
    await using store = await throwAwayPostgres();
    using endpoint = startWebhookEndpoint();
    const config = { webhooks: { allowPrivateAddresses: true }, store: { url: store.url } };
    let app: Pair;
    {
      await using server = await startFanfare({ config });
      app = await makeApp(server, {
        webhooks: [{ url: endpoint.url, events: ['channel_occupied'] }],
      });
      await talks(server, app);
      await webhooksOf(server, `app=${app.id}&state=delivered`, 1);
      expect(endpoint.bodies.join()).toContain('channel_occupied');
      endpoint.answerWith(503);
      await talks(server, app, 'other');
      await webhooksOf(server, `app=${app.id}&state=waiting`, 1);
      expect(await server.stop()).toBe(0);
    }
    endpoint.answerWith(200);
    await using server = await startFanfare({ config });
    await webhooksOf(server, `app=${app.id}&state=delivered`, 2);
    const [listed] = await webhooksOf(server, `app=${app.id}&limit=1`, 1);
    const log = await fanfare(server.directory, ['webhooks', 'show', listed?.id ?? '', '--json'], {
      ...FREE_PORTS,
      FANFARE_STORE_URL: store.url,
    });
    expect(JSON.parse(log.stdout)).toMatchObject({ app: app.id, state: 'delivered' });
    await using sql = new SQL(store.url, { max: 1 });
    const rows: { messages: string }[] = await sql`
      SELECT messages FROM usage_days WHERE app_id = ${app.id}`;
    // At least two requests and two deliveries.
    expect(Number(rows[0]?.messages)).toBeGreaterThanOrEqual(4);
  });

  it('reports why it cannot start, and never with the password', async () => {
    using directory = temporaryDirectory();
    for (const [url, exitCode, words] of [
      [
        'postgres://user:geheim@127.0.0.1:1/db',
        1,
        /^fanfare: The store postgres:\/\/\*\*\*@127\.0\.0\.1:1\/db cannot be opened: nothing listens at .*\n$/,
      ],
      ['postgres://user:ge heim@:/db', 2, /\(store\.url\): must be a valid address; .*\n$/],
      ['postgres://user:ge@heim/x@db.example/db', 2, /\(store\.url\): must be a valid address; /],
    ] as const) {
      for (const args of [['serve'], ['apps', 'list'], ['webhooks', 'list']]) {
        const ended = await fanfare(directory.path, args, {
          ...FREE_PORTS,
          FANFARE_STORE_URL: url,
        });
        expect(ended.exitCode).toBe(exitCode);
        expect(ended.stderr).toMatch(words);
        expect(ended.stderr).not.toContain('heim');
      }
    }
    expect(await Bun.file(join(directory.path, 'data')).exists()).toBe(false);
  });
});
