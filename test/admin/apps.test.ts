import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { admin, type MadeApp, makeApp } from '../../testing/clients/admin-api.ts';
import { pathOf, RawClient } from '../../testing/clients/raw-client.ts';
import { api, channelAuth } from '../../testing/clients/sign.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { restart } from '../../testing/servers/restart.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

const statusOf = async (app: MadeApp) =>
  (await api(server, 'GET', `/apps/${app.id}/channels`, app)).status;

describe('the apps of the admin API', () => {
  it('are served as soon as they are created', async () => {
    const app = await makeApp(server, { name: 'shop', clientEvents: true });
    expect(app.id).toMatch(/^\d+$/);
    expect(await statusOf(app)).toBe(200);
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    await client.subscribe('news');
  });

  it('may bring an id and keys of their own, so that an app can move here', async () => {
    const keys = [{ key: 'moved-key', secret: 'moved-secret' }];
    const made = await admin(server, 'POST', '/apps', { body: { id: 4711, keys } });
    expect(made).toMatchObject({ status: 201, json: { id: '4711', keys } });
    expect(await statusOf({ id: '4711', key: 'moved-key', secret: 'moved-secret' })).toBe(200);
    expect(await admin(server, 'POST', '/apps', { body: { id: '4711' } })).toMatchObject({
      status: 409,
      json: { error: 'id: app 4711 already exists', field: 'id' },
    });
    expect(await admin(server, 'POST', '/apps', { body: { keys } })).toMatchObject({
      status: 409,
      json: { field: 'keys' },
    });
    const invisible = [{ key: 'k', secret: 'moved-secret\n' }];
    expect(await admin(server, 'POST', '/apps', { body: { keys: invisible } })).toMatchObject({
      status: 400,
      json: {
        field: 'keys[0].secret',
        error: 'keys[0].secret: ends in "\\n", which nobody sees: remove it',
      },
    });
    const configured = [{ key: APP.key, secret: 'x' }];
    expect((await admin(server, 'POST', '/apps', { body: { keys: configured } })).status).toBe(409);
  });

  it('show their secrets only when they are created or on request', async () => {
    const app = await makeApp(server);
    for (const path of ['/apps', `/apps/${app.id}`]) {
      const { text } = await admin(server, 'GET', path);
      expect(text).toContain(app.key);
      expect(text).not.toContain(app.secret);
      const { text: withSecrets } = await admin(server, 'GET', `${path}?secrets=true`);
      expect(withSecrets).toContain(app.secret);
    }
    const { text } = await admin(server, 'PATCH', `/apps/${app.id}`, { body: { name: 'x' } });
    expect(text).not.toContain(app.secret);
  });

  it('are changed at once, and only in the given settings', async () => {
    const webhooks = [{ url: 'https://example.com/', events: ['client_event'] }];
    const app = await makeApp(server, { name: 'before', limits: { connections: 7 }, webhooks });
    const limits = { presenceMembers: 5 };
    const changed = await admin(server, 'PATCH', `/apps/${app.id}`, {
      body: { name: 'after', subscriptionCounts: true, limits },
    });
    expect(changed).toMatchObject({
      status: 200,
      json: {
        name: 'after',
        subscriptionCounts: true,
        clientEvents: false,
        limits: { connections: 7, presenceMembers: 5, channelsPerTrigger: 100 },
        webhooks: [{ url: 'https://example.com/', events: ['client_event'], batching: true }],
      },
    });
    const attribute = await api(server, 'GET', `/apps/${app.id}/channels/a`, {
      ...app,
      query: { info: 'subscription_count' },
    });
    expect(attribute.status).toBe(200);
    const cleared = await admin(server, 'PATCH', `/apps/${app.id}`, { body: { webhooks: [] } });
    expect(cleared.json).toMatchObject({ webhooks: [], name: 'after' });
  });

  it('are not changed by a dry run, which shows what would change or why not', async () => {
    const hook = { url: 'https://example.com/?token=geheim', events: ['client_event'] };
    const app = await makeApp(server, { name: 'before', webhooks: [hook] });
    const path = `/apps/${app.id}`;
    const before = await admin(server, 'GET', path);
    const noted = async () => {
      const { json } = await admin(server, 'GET', '/audit');
      const { entries } = json as { entries: { subject: string; status: number }[] };
      return entries.filter(({ subject, status }) => subject === app.id && status < 300).length;
    };
    const notedBefore = await noted();
    const body = { name: 'after', limits: { connections: 9, presenceMembers: 100 }, webhooks: [] };
    const tried = await admin(server, 'PATCH', `${path}?dry-run`, { body });
    expect(tried).toMatchObject({
      status: 200,
      json: { name: 'after', limits: { connections: 9 } },
    });
    expect((tried.json as { changes: unknown }).changes).toEqual([
      { setting: 'name', before: 'before', after: 'after' },
      { setting: 'limits.connections', before: 0, after: 9 },
      {
        setting: 'webhooks',
        before: [expect.objectContaining({ url: 'https://example.com/?token=***' })],
        after: [],
      },
    ]);
    expect((await admin(server, 'GET', path)).json).toEqual(before.json);
    const wrong = { limits: { connections: -1 } };
    expect(await admin(server, 'PATCH', `${path}?dry-run=true`, { body: wrong })).toMatchObject({
      status: 400,
      json: { field: 'limits.connections' },
    });
    expect(await admin(server, 'PATCH', `/apps/${APP.id}?dry-run`, { body })).toMatchObject({
      status: 409,
      json: { error: expect.stringContaining('change it there, at channels.apps') },
    });
    expect((await admin(server, 'PATCH', '/apps/0815?dry-run', { body })).status).toBe(404);
    // Nothing was changed, so nothing is written down.
    expect(await noted()).toBe(notedBefore);
  });

  it('have two valid keys while they are rotated, and never none', async () => {
    const app = await makeApp(server);
    const added = await admin(server, 'POST', `/apps/${app.id}/keys`);
    expect(added.status).toBe(201);
    const pair = added.json as { key: string; secret: string };
    expect([await statusOf(app), await statusOf({ ...app, ...pair })]).toEqual([200, 200]);

    const path = `/apps/${app.id}/keys`;
    expect((await admin(server, 'DELETE', `${path}/${app.key}`)).status).toBe(200);
    expect([await statusOf(app), await statusOf({ ...app, ...pair })]).toEqual([401, 200]);
    expect(await admin(server, 'DELETE', `${path}/${pair.key}`)).toMatchObject({ status: 409 });
    expect(await admin(server, 'DELETE', `${path}/${app.key}`)).toMatchObject({ status: 404 });
    expect(await statusOf({ ...app, ...pair })).toBe(200);
  });

  it('show whether an old key is still in use: by requests, by what was signed with it, and by open connections', async () => {
    const app = await makeApp(server);
    const path = `/apps/${app.id}/keys`;
    const added = (await admin(server, 'POST', path)).json as { key: string; secret: string };
    const uses = async () => {
      const { json, text } = await admin(server, 'GET', path);
      expect(text).not.toContain(app.secret);
      return (json as { keys: readonly Record<string, unknown>[] }).keys;
    };
    const unused = { key: app.key, connections: 0 };
    expect(await uses()).toEqual([unused, { ...unused, key: added.key }]);

    // Another signature than its own is no use of a key.
    expect(await statusOf({ ...app, secret: 'wrong' })).toBe(401);
    expect(await uses()).toEqual([unused, { ...unused, key: added.key }]);

    const startedAtMs = Date.now();
    expect(await statusOf(app)).toBe(200);
    const [requested] = await uses();
    expect(requested).toEqual({
      ...unused,
      lastUsedAtMs: requested?.['lastRequestAtMs'],
      lastRequestAtMs: expect.any(Number),
    });
    expect(requested?.['lastRequestAtMs']).toBeGreaterThanOrEqual(startedAtMs);

    // The client connects with the new key, and its backend still signs with the old one.
    const client = await RawClient.connect(server, { path: pathOf(7, added.key) });
    await client.subscribe('private-a', channelAuth(client.socketId, 'private-a', undefined, app));
    const [old, current] = await uses();
    expect(old).toMatchObject({ connections: 0, lastSignatureAtMs: expect.any(Number) });
    expect(current).toEqual({
      key: added.key,
      connections: 1,
      lastUsedAtMs: expect.any(Number),
      lastConnectionAtMs: expect.any(Number),
    });
    await client[Symbol.asyncDispose]();
    await eventually(uses, ([, one]) => one?.['connections'] === 0);
  });

  it('have no more than 20 keys', async () => {
    const app = await makeApp(server);
    const keys = Array.from({ length: 21 }, (_, index) => ({ key: `k${index}`, secret: 's' }));
    expect((await admin(server, 'POST', '/apps', { body: { keys } })).status).toBe(400);
    const path = `/apps/${app.id}/keys`;
    const added = await Promise.all(keys.map(() => admin(server, 'POST', path)));
    expect(added.filter(({ status }) => status === 201)).toHaveLength(19);
    expect(added.filter(({ status }) => status === 409)).toHaveLength(2);
  });

  it('are refused while they are disabled, and served again when they are enabled', async () => {
    const app = await makeApp(server);
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    const disabled = await admin(server, 'POST', `/apps/${app.id}/disable`);
    expect(disabled).toMatchObject({ status: 200, json: { enabled: false } });
    expect(await client.closed).toMatchObject({ code: 4003 });
    expect(await statusOf(app)).toBe(403);
    const enabled = await admin(server, 'POST', `/apps/${app.id}/enable`, { body: {} });
    expect(enabled).toMatchObject({ status: 200, json: { enabled: true } });
    expect(await statusOf(app)).toBe(200);
  });

  it('lose their connections when they are deleted', async () => {
    const app = await makeApp(server);
    await using client = await RawClient.connect(server, { path: pathOf(7, app.key) });
    const deleted = await admin(server, 'DELETE', `/apps/${app.id}`);
    expect(deleted).toMatchObject({ status: 200, json: { id: app.id, deleted: true } });
    expect(await client.closed).toMatchObject({ code: 4003 });
    expect(await statusOf(app)).toBe(401);
    expect((await admin(server, 'DELETE', `/apps/${app.id}`)).status).toBe(404);
  });

  it('of the configuration are listed, and changed there only', async () => {
    const { json } = await admin(server, 'GET', '/apps');
    expect((json as { apps: object[] }).apps[0]).toMatchObject({
      id: APP.id,
      source: 'configuration',
    });
    const path = `/apps/${APP.id}`;
    for (const [method, at, body] of [
      ['PATCH', path, { name: 'x' }],
      ['DELETE', path],
      ['POST', `${path}/keys`],
      ['DELETE', `${path}/keys/${APP.key}`],
      ['POST', `${path}/disable`],
      ['POST', `${path}/enable`],
    ] as const) {
      expect(await admin(server, method, at, { body })).toMatchObject({
        status: 409,
        json: { error: expect.stringContaining('change it there, at channels.apps') },
      });
    }
  });

  it('that do not exist are named in the error', async () => {
    for (const [method, path, body] of [
      ['GET', '/apps/42'],
      ['PATCH', '/apps/42', {}],
      ['DELETE', '/apps/42'],
      ['GET', '/apps/42/keys'],
      ['POST', '/apps/42/keys'],
      ['DELETE', '/apps/42/keys/x'],
      ['POST', '/apps/42/disable'],
      ['GET', '/apps/42/channels'],
      ['GET', '/apps/42/usage'],
    ] as const) {
      expect(await admin(server, method, path, { body })).toMatchObject({
        status: 404,
        json: { error: 'There is no app 42' },
      });
    }
  });

  it('keep every one of many changes at the same time', async () => {
    const app = await makeApp(server);
    const names = ['connections', 'presenceMembers', 'channelsPerConnection', 'triggersPerSecond'];
    await Promise.all(
      names.map((name) =>
        admin(server, 'PATCH', `/apps/${app.id}`, { body: { limits: { [name]: 77 } } }),
      ),
    );
    const { json } = await admin(server, 'GET', `/apps/${app.id}`);
    expect(json).toMatchObject({
      limits: Object.fromEntries(names.map((name) => [name, 77])),
    });
  });

  it('stay the same while another process locks the store, and the answer reports that', async () => {
    await using server = await startFanfare({ onlyOne: 'sqlite-file' });
    const app = await makeApp(server, { name: 'before' });
    const holder = new Database(join(server.directory, 'fanfare.db'));
    holder.exec('PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE');
    expect(await admin(server, 'PATCH', `/apps/${app.id}`, { body: { name: 'x' } })).toMatchObject({
      status: 503,
      json: { error: expect.stringContaining('The store cannot be used now') },
    });
    holder.run('ROLLBACK');
    holder.close();
    const { json } = await admin(server, 'PATCH', `/apps/${app.id}`, { body: { enabled: true } });
    expect(json).toMatchObject({ name: 'before' });
  });

  it('keep their changes across a restart', async () => {
    await using first = await startFanfare();
    const app = await makeApp(first, { name: 'kept' });
    await admin(first, 'PATCH', `/apps/${app.id}`, { body: { limits: { connections: 3 } } });
    await using second = await restart(first, 'SIGKILL');
    expect(await admin(second, 'GET', `/apps/${app.id}`)).toMatchObject({
      status: 200,
      json: { name: 'kept', limits: { connections: 3 } },
    });
    expect((await api(second, 'GET', `/apps/${app.id}/channels`, app)).status).toBe(200);
  });
});
