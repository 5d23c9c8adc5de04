import { afterAll, beforeAll, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { askAs, TRUSTED_USER_PROXY } from '../../testing/clients/proxied-user.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Users of the admin API attack the operator of the server. */

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    config: {
      admin: {
        port: 0,
        proxy: TRUSTED_USER_PROXY,
        roles: [
          { group: 'readers', role: 'viewer' },
          { group: 'tenant', role: 'admin', apps: ['bounded'], instances: [INSTANCE] },
        ],
      },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

interface Entry {
  readonly operation: string;
  readonly user: string | null;
  readonly subject: string | null;
  readonly detail: string;
  readonly times: number;
}

it('refused requests do not displace what the operator did', async () => {
  expect((await admin(server, 'POST', '/apps', { body: { id: 'evidence' } })).status).toBe(201);
  for (let n = 0; n < 150; n++) {
    const request = { user: 'mallory', body: { [`field-${n}`]: 1 } };
    const call = ['POST', `/apps/made-up-${n}/events`] as const;
    expect((await askAs(server, 'none', call, request)).status).toBe(403);
    const ofReader = { ...request, user: 'reader' };
    expect((await askAs(server, 'readers', call, ofReader)).status).toBe(403);
  }
  const disable = ['POST', `/apps/${APP.id}/disable`] as const;
  expect((await askAs(server, 'readers', disable, { user: 'reader' })).status).toBe(403);

  const { json } = await admin(server, 'GET', '/audit?limit=1000');
  const { entries } = json as { readonly entries: readonly Entry[] };
  expect(entries).toContainEqual(
    expect.objectContaining({ operation: 'createApp', subject: 'evidence' }),
  );
  // Who may do nothing writes nothing, and nobody writes what they made up.
  expect(entries.filter(({ user }) => user === 'mallory')).toEqual([]);
  const ofReader = entries.filter(({ user }) => user === 'reader');
  expect(ofReader).toMatchObject([
    { operation: 'disableApp', subject: APP.id },
    { operation: 'sendEvent', subject: null, detail: '' },
  ]);
  expect(ofReader[1]?.times).toBeGreaterThan(100);
  const { text } = await admin(server, 'GET', '//metrics');
  expect(text).toContain('fanfare_admin_requests_refused_total{why="no-role"} 150');
});

it("a tenant's own admin does not take off what bounds the tenant", async () => {
  const limits = { connections: 7, messagesPerDay: 70 };
  const app = { id: 'bounded', limits };
  const instance = {
    id: INSTANCE,
    limits: { devices: 9, publishesPerSecond: 2 },
    web: {
      vapid: { subject: 'mailto:ops@example.org' },
      allowedHosts: ['updates.push.services.mozilla.com'],
    },
  };
  expect((await admin(server, 'POST', '/apps', { body: app })).status).toBe(201);
  expect((await admin(server, 'POST', '/instances', { body: instance })).status).toBe(201);
  const settings = async () =>
    [
      (await admin(server, 'GET', '/apps/bounded')).json,
      (await admin(server, 'GET', `/instances/${INSTANCE}`)).json,
    ] as unknown;
  const before = await settings();
  const attack = async (path: string, body: object) => {
    for (const query of ['', '?dry-run']) {
      const { status, json } = await askAs(server, 'tenant', ['PATCH', `${path}${query}`], {
        body,
      });
      expect({ path, body, status, json }).toMatchObject({
        status: 403,
        json: { error: expect.stringContaining('it takes an admin of the whole server') },
      });
    }
  };
  const known = (before as { limits: object }[]).map((one) => Object.keys(one.limits));
  for (const name of known[0] ?? []) {
    await attack('/apps/bounded', { name: 'mine', limits: { [name]: 99 } });
  }
  for (const name of known[1] ?? []) {
    await attack(`/instances/${INSTANCE}`, { limits: { [name]: 99 } });
  }
  const history = [{ channels: '*', events: 10_000 }];
  await attack('/apps/bounded', { history });
  await attack(`/instances/${INSTANCE}`, { web: null });
  expect(await settings()).toEqual(before);

  // The operator has taken it out of service.
  expect((await admin(server, 'POST', '/apps/bounded/disable')).status).toBe(200);
  await attack('/apps/bounded', { enabled: true });
  const enabled = await askAs(server, 'tenant', ['POST', '/apps/bounded/enable']);
  expect(enabled.status).toBe(403);
  // All else is the tenant's.
  const own = { name: 'mine', limits, history: [{ channels: 'chat-*' }] };
  const changed = await askAs(server, 'tenant', ['PATCH', '/apps/bounded'], { body: own });
  expect(changed.status).toBe(200);
});
