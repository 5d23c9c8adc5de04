import { afterAll, beforeAll, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { askAs, TRUSTED_USER_PROXY } from '../../testing/clients/proxied-user.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** Users of the admin API attack the operator of the server. */

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    config: {
      admin: {
        port: 0,
        proxy: TRUSTED_USER_PROXY,
        roles: [{ group: 'readers', role: 'viewer' }],
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
