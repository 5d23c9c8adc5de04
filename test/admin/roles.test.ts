import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin, type ListedWebhook, webhooksOf } from '../../testing/clients/admin-api.ts';
import {
  askAs,
  TRUSTED_USER_PROXY,
  USER_PROXY,
  type UserRequest,
} from '../../testing/clients/proxied-user.ts';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { eventually } from '../../testing/eventually.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import { registered } from '../protocol/push/exchange.ts';

const OTHER = { id: 'other', keys: [{ key: 'other-key', secret: 'other-secret' }] };

let server: Fanfare;
let endpoint: WebhookEndpoint;
let instance: string;
let webhook: string;
beforeAll(async () => {
  endpoint = startWebhookEndpoint();
  server = await startFanfare({
    app: { webhooks: [endpoint.webhook] },
    moreApps: [OTHER],
    config: {
      webhooks: { allowPrivateAddresses: true },
      dashboard: { payloads: 'hide' },
      admin: {
        port: 0,
        pathPrefix: '/realtime/admin',
        proxy: TRUSTED_USER_PROXY,
        roles: [
          { group: 'viewers', role: 'viewer' },
          { group: 'operators', role: 'operator' },
          { group: 'admins', role: 'admin', payloads: 'hide' },
          { group: 'of-test', role: 'admin', apps: [APP.id], instances: [] },
          { group: 'of-other', role: 'admin', apps: [OTHER.id] },
        ],
      },
    },
  });
  const made = await admin(server, 'POST', '/instances', { body: {} });
  instance = (made.json as { id: string }).id;
  await using client = await RawClient.connect(server);
  await client.subscribe('a');
  [{ id: webhook } = { id: '' }] = await webhooksOf(server, `app=${APP.id}&state=delivered`, 1);
});
afterAll(async () => {
  endpoint[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
});

/** Asks as a user of these groups, through the proxy. */
const as = (groups: string, method: string, path: string, request?: UserRequest) =>
  askAs(server, groups, [method, path], request);

describe('a user of a trusted proxy', () => {
  it('is known by name, and may do what the role allows', async () => {
    expect((await as('x, viewers', 'GET', '/session')).json).toEqual({
      user: 'alice',
      role: 'viewer',
      apps: '*',
      instances: '*',
      payloads: false,
      how: 'proxy',
    });
    expect((await as('viewers', 'GET', '/live')).status).toBe(200);
    expect((await as('viewers', 'GET', '//metrics')).status).toBe(200);
    expect(await as('viewers', 'GET', `/webhooks/${webhook}`)).toMatchObject({
      status: 403,
      json: { error: 'This takes the role support; yours is viewer' },
    });
    expect((await as('operators', 'POST', `/webhooks/${webhook}/replay`)).status).toBe(202);
    expect((await as('operators', 'POST', '/apps', { body: {} })).status).toBe(403);
    const check = (body: object) =>
      as('operators', 'POST', `/instances/${instance}/gateways/check`, { body });
    expect((await check({ platform: 'fcm' })).status).toBe(409);
    // Another credential is for those who may keep it.
    const tried = { platform: 'fcm', fcm: { serviceAccount: '{}' } };
    expect((await check(tried)).status).toBe(403);
    for (const path of ['/apps', '/instances', `/apps/${APP.id}`]) {
      expect((await as('operators', 'GET', path)).status).toBe(200);
      expect((await as('operators', 'GET', `${path}?secrets=true`)).status).toBe(403);
    }
  });

  it('sends events to users of an app only with a role in that app, and sees no users if they are hidden', async () => {
    const path = `/instances/${instance}`;
    expect((await admin(server, 'PATCH', path, { body: { app: APP.id } })).status).toBe(200);
    const body = { users: ['a'], live: { event: 'e', data: 1 }, fcm: { data: { a: 'b' } } };
    for (const sends of [`${path}/previews`, `${path}/publishes`]) {
      expect(await as('of-other', 'POST', sends, { body })).toMatchObject({
        status: 403,
        json: { field: 'live' },
      });
      const { live: _, ...others } = body;
      expect((await as('of-other', 'POST', sends, { body: others })).status).toBe(200);
    }
    const sent = await as('operators', 'POST', `${path}/publishes`, { body });
    const { publishId } = sent.json as { publishId: string };
    expect((await as('operators', 'GET', `${path}/publishes/${publishId}/users`)).status).toBe(403);
  });

  it('makes no log-in link, which would have more rights and outlive the role', async () => {
    expect(await as('admins', 'POST', '/session/link')).toMatchObject({
      status: 403,
      json: { error: 'A log-in link has all rights: it takes the password' },
    });
    expect((await admin(server, 'POST', '/session/link')).status).toBe(200);
  });

  it('without a role may do nothing, but sees the page that says so', async () => {
    for (const path of ['/session', '/apps', '/live', '/openapi.json', '//metrics']) {
      expect((await as('x', 'GET', path)).status).toBe(403);
    }
    expect((await as('x', 'GET', '//dashboard')).status).toBe(200);
  });

  it('is nobody if the request does not come from the proxy, which is logged', async () => {
    const logged = server.logsNext(/User header ignored/);
    expect((await as('viewers', 'GET', '/live', { from: '127.0.0.3' })).status).toBe(401);
    expect(JSON.parse(await logged)).toMatchObject({ address: '127.0.0.3' });
  });

  it('is named in the log with each change, and in the list of who did what', async () => {
    const logged = server.logsNext(/Webhook replayed|Change refused/);
    // It is refused while the replay before is on its way.
    const { status } = await eventually(
      () => as('operators', 'POST', `/webhooks/${webhook}/replay`),
      (answer) => answer.status === 202,
    );
    expect(JSON.parse(await logged)).toMatchObject({ who: 'alice', address: USER_PROXY });
    const { json } = await admin(server, 'GET', '/audit');
    expect((json as { entries: object[] }).entries).toContainEqual(
      expect.objectContaining({
        user: 'alice',
        how: 'proxy',
        address: null,
        operation: 'replayWebhook',
        subject: webhook,
        status,
      }),
    );
    expect((await as('operators', 'GET', '/audit')).status).toBe(403);
    expect((await as('of-test', 'GET', '/audit')).status).toBe(403);
  });
});

describe('a user who may only see one app', () => {
  it('sees the others nowhere', async () => {
    const apps = (json: unknown) => (json as { apps: { id: string }[] }).apps.map(({ id }) => id);
    expect(apps((await as('of-test', 'GET', '/apps')).json)).toEqual([APP.id]);
    expect(apps((await as('of-other', 'GET', '/apps')).json)).toEqual([OTHER.id]);
    expect(apps((await as('of-test', 'GET', '/live')).json)).toEqual([APP.id]);
    const { json } = await as('of-other', 'GET', '/live');
    const { servers } = json as { servers: { connections: number; apps: object[] }[] };
    expect(servers.flatMap((one) => [one.connections, ...one.apps]).filter(Boolean)).toEqual([]);
    expect(servers.length).toBeGreaterThan(0);
    expect((await as('of-test', 'GET', '/instances')).json).toMatchObject({ instances: [] });
    for (const path of [`/apps/${OTHER.id}`, '/apps/nothing', `/instances/${instance}`]) {
      expect((await as('of-test', 'GET', path)).status).toBe(404);
    }
    expect((await as('of-test', 'GET', `/users/ann?app=${APP.id}`)).status).toBe(200);
    for (const query of [`app=${OTHER.id}`, `app=${APP.id}&instance=${instance}`]) {
      expect((await as('of-test', 'GET', `/users/ann?${query}`)).status).toBe(404);
    }
    expect((await as('of-test', 'DELETE', `/apps/${OTHER.id}`)).status).toBe(404);
    expect((await as('of-test', 'GET', `/apps/${APP.id}?secrets=true`)).text).toContain(APP.secret);
  });

  it('cannot make the server read files or ask hosts of the operator', async () => {
    const change = (body: object) => as('of-other', 'PATCH', `/instances/${instance}`, { body });
    const { web } = (await as('of-other', 'GET', `/instances/${instance}`)).json as {
      web: { allowedHosts: string[] };
    };
    const credential = { teamId: 'T', keyId: 'K', privateKeyFile: '/etc/passwd' };
    for (const [body, field] of [
      [{ web: { allowedHosts: ['db.internal:5432'] } }, 'web.allowedHosts'],
      [{ web: { allowPrivateAddresses: true } }, 'web.allowPrivateAddresses'],
      [{ web: { caFile: '/etc/passwd' } }, 'web.caFile'],
      [{ apns: credential }, 'apns.privateKeyFile'],
      [{ fcm: { origin: 'http://127.0.0.1:6379' } }, 'fcm.origin'],
    ] as const) {
      const { status, json } = await change(body);
      expect({ status, json }).toMatchObject({ status: 403, json: { field } });
    }
    // What is sent back as it was is no change.
    expect((await change({ name: 'mine', web: { allowedHosts: web.allowedHosts } })).status).toBe(
      200,
    );
  });

  it('sees and replays its webhooks alone', async () => {
    const list = async (groups: string, query: string) =>
      await as(groups, 'GET', `/webhooks?${query}`);
    const mine = (await list('of-test', `app=${APP.id}`)).json as { webhooks: ListedWebhook[] };
    expect(mine.webhooks.map(({ app }) => app)).toContain(APP.id);
    for (const query of ['', 'state=waiting', `app=${OTHER.id}`, `instance=${instance}`]) {
      expect((await list('of-test', query)).status).toBe(403);
    }
    for (const [groups, status] of [
      ['of-test', 200],
      ['of-other', 404],
    ] as const) {
      expect((await as(groups, 'GET', `/webhooks/${webhook}`)).status).toBe(status);
    }
    const replayed = await as('of-other', 'POST', `/webhooks/${webhook}/replay`);
    expect(replayed.status).toBe(404);
  });

  it('may do nothing that concerns the whole server', async () => {
    for (const [method, path] of [
      ['POST', '/apps'],
      ['POST', '/instances'],
      ['GET', '//metrics'],
    ] as const) {
      expect((await as('of-test', method, path)).status).toBe(403);
    }
  });
});

it('answers under the path at which a proxy mounts it, whether the proxy removes that or not', async () => {
  for (const prefix of ['', '/realtime/admin']) {
    const { status, text } = await as('viewers', 'GET', `/${prefix}/dashboard/apps/x`);
    expect(status).toBe(200);
    const [asset = ''] = /\/realtime\/admin\/dashboard\/assets\/[\w.-]+\.js/.exec(text) ?? [];
    expect((await as('viewers', 'GET', `/${asset}`)).status).toBe(200);
    expect((await as('viewers', 'GET', `/${prefix}/api/v1/live`)).status).toBe(200);
    expect((await as('viewers', 'GET', `/${prefix}/healthz`)).status).toBe(200);
  }
  for (const path of ['/', '/realtime/admin', '/realtime/admin/']) {
    expect(await as('viewers', 'GET', `/${path}`)).toMatchObject({
      status: 302,
      text: 'The dashboard is at /realtime/admin/dashboard\n',
    });
  }
  expect((await as('viewers', 'GET', '//realtime/adminx/dashboard')).status).toBe(404);
});

it('hides payloads from everybody if they are hidden', async () => {
  const { json, text } = await admin(server, 'GET', `/webhooks/${webhook}`);
  const { body, attemptLog } = json as { body: unknown; attemptLog: { answer: unknown }[] };
  expect(attemptLog.length).toBeGreaterThan(0);
  expect([body, ...attemptLog.map(({ answer }) => answer)]).toEqual([
    null,
    ...attemptLog.map(() => null),
  ]);
  // Names of events stay, and the fields around them in the body do not.
  expect(text).not.toContain('time_ms');
  const device = await registered({ pushPort: server.pushPort, id: instance });
  const shown = await admin(server, 'GET', `/instances/${instance}/devices/${device}`);
  expect(shown.json).toMatchObject({ registered: { id: device, metadata: {} } });
});
