import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { admin } from '../../testing/clients/admin-api.ts';
import { askAs, TRUSTED_USER_PROXY } from '../../testing/clients/proxied-user.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { appAt } from '../../testing/servers/test-app.ts';
import { fanfare } from '../cli/run-fanfare.ts';

/** Revocations of operators. Source: identity, §3.6. */

const PATH = `/apps/${APP.id}/revocations`;
const PLAIN = { id: 'plain', keys: [{ key: 'plain-key', secret: 'plain-secret' }] };

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    threads: 2,
    onlyOne: 'sqlite-file',
    app: { grants: { channels: { 'private-user-{user}': ['subscribe'] } } },
    moreApps: [PLAIN],
    config: {
      admin: {
        port: 0,
        proxy: TRUSTED_USER_PROXY,
        roles: [
          { group: 'supporters', role: 'support' },
          { group: 'operators', role: 'operator' },
          { group: 'viewers', role: 'viewer' },
        ],
      },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** A connection of a user in a channel of the setting. */
async function connected(user: string) {
  const app = appAt(server);
  const client = await app.connect();
  client.send(app.signIn(client, { id: user }));
  client.send({ event: 'pusher:subscribe', data: { channel: `private-user-${user}`, auth: '' } });
  expect((await client.receive()).event).toBe('pusher:signin_success');
  expect((await client.receive()).event).toBe('pusher_internal:subscription_succeeded');
  return client;
}

const cli = (...words: readonly string[]) =>
  fanfare(server.directory, [
    ...['revoke', ...words, '--config', 'config.json'],
    ...['--url', `http://127.0.0.1:${server.adminPort}`],
  ]);

const REVOKED = { code: 4200, reason: 'Grant revoked, please reconnect' };
const nowSeconds = () => Math.floor(Date.now() / 1000);

describe('the admin API', () => {
  it('revokes grants, ends what hangs on them, and lists what it has revoked', async () => {
    await using ann = await connected('ann');
    const before = nowSeconds();
    const { status, json } = await admin(server, 'POST', PATH, { body: { userId: 'ann' } });
    expect(status).toBe(200);
    const revoked = json as { issuedBefore: number; revokedAtMs: number };
    expect(revoked).toMatchObject({ userId: 'ann', jti: null, all: false });
    expect(revoked.issuedBefore).toBeGreaterThanOrEqual(before);
    expect(await ann.closed).toEqual(REVOKED);
    await admin(server, 'POST', PATH, { body: { jti: 'a:b' } });
    const body = { all: true, issuedBefore: 5 };
    expect((await admin(server, 'POST', PATH, { body })).status).toBe(200);
    expect((await admin(server, 'GET', PATH)).json).toEqual({
      revocations: [
        { userId: null, jti: null, all: true, issuedBefore: 5, revokedAtMs: expect.any(Number) },
        {
          userId: null,
          jti: 'a:b',
          all: false,
          issuedBefore: null,
          revokedAtMs: expect.any(Number),
        },
        revoked,
      ],
      next: null,
    });
    const first = await admin(server, 'GET', `${PATH}?limit=2`);
    const { next } = first.json as { next: string };
    expect((await admin(server, 'GET', `${PATH}?after=${encodeURIComponent(next)}`)).json).toEqual({
      revocations: [revoked],
      next: null,
    });
  });

  it.each<[object, string]>([
    [{}, 'userId, jti or all: exactly one is needed'],
    [{ userId: 'ann', all: true }, 'userId, jti or all: exactly one is needed'],
    [{ userId: 'a b' }, 'userId: must be a user id'],
    [{ jti: 'x', issuedBefore: 5 }, 'issuedBefore: goes with userId or all only'],
    [{ all: true, issuedBefore: 4e9 }, 'issuedBefore: must not be in the future'],
    [{ all: false }, 'all: '],
    [{ user_id: 'ann' }, 'user_id: unknown setting'],
  ])('refuses %j', async (body, why) => {
    const { status, text } = await admin(server, 'POST', PATH, { body });
    expect([status, text]).toEqual([400, expect.stringContaining(why)]);
  });

  it('refuses an app that is unknown or takes no grants, and a place that it has not named', async () => {
    const body = { all: true };
    expect((await admin(server, 'POST', '/apps/none/revocations', { body })).status).toBe(404);
    expect((await admin(server, 'GET', '/apps/none/revocations')).status).toBe(404);
    const { status, text } = await admin(server, 'POST', '/apps/plain/revocations', { body });
    expect([status, text]).toEqual([400, expect.stringContaining('the app takes no grants')]);
    expect((await admin(server, 'GET', `${PATH}?after=other:x`)).status).toBe(400);
  });

  it('lets operators revoke and supporters look, and notes who has', async () => {
    const body = { jti: 'noted' };
    const as = (group: string, method: string) =>
      askAs(server, group, [method, PATH], method === 'POST' ? { body } : {});
    expect((await as('supporters', 'POST')).status).toBe(403);
    expect((await as('operators', 'POST')).status).toBe(200);
    expect((await as('supporters', 'GET')).status).toBe(200);
    expect((await as('viewers', 'GET')).status).toBe(403);
    const { text } = await admin(server, 'GET', '/audit');
    expect(text).toContain('revokeGrants');
  });

  it('says of a token that it was revoked', async () => {
    const app = appAt(server);
    const claims = { exp: nowSeconds() + 60, iat: nowSeconds(), jti: 'examined', sub: 'ines' };
    const parts = [{ alg: 'HS256' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const signed = parts.join('.');
    const mac = new Bun.CryptoHasher('sha256', app.secret).update(signed).digest('base64url');
    const body = { channel: 'private-user-ines', socketId: '1.1', auth: `${signed}.${mac}` };
    const check = () => admin(server, 'POST', `/apps/${APP.id}/check-auth`, { body });
    expect((await check()).json).toMatchObject({ ok: true });
    await admin(server, 'POST', PATH, { body: { jti: 'examined' } });
    expect((await check()).json).toMatchObject({
      ok: false,
      text: 'Invalid token: it was revoked.',
    });
  });
});

describe('fanfare revoke', () => {
  it('revokes through a running server, and says until when', async () => {
    await using bob = await connected('bob');
    const { exitCode, stdout } = await cli(APP.id, '--user', 'bob');
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^The grants of bob in app 3 that were given until 2\S+Z are revoked\./);
    expect(await bob.closed).toEqual(REVOKED);
    const token = await cli(APP.id, '--token', 'some-id', '--json');
    expect(JSON.parse(token.stdout)).toMatchObject({ jti: 'some-id' });
    const all = await cli(APP.id, '--all', '--issued-before', '2001-02-03T04:05:06Z');
    expect(all.stdout).toContain('All grants of app 3 that were given until 2001-02-03T04:05:06');
    const seconds = await cli(APP.id, '--user', 'bob', '--issued-before', '981173106', '--json');
    expect(seconds.exitCode).toBe(0);
  });

  it.each([
    [],
    ['--user', 'ann', '--all'],
    ['--token', 'x', '--issued-before', '5'],
    ['--all', '--issued-before', 'yesterday'],
  ])('ends with 2 at %j', async (...words: string[]) => {
    expect((await cli(APP.id, ...words.flat())).exitCode).toBe(2);
  });

  it('ends with 1 if the server refuses', async () => {
    const { exitCode, stderr } = await cli('plain', '--all');
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('the app takes no grants')]);
  });
});
