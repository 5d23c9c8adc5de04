import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { admin } from '../../../testing/clients/admin-api.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { restart } from '../../../testing/servers/restart.ts';
import { type AppClient, newApp, TestApp } from '../../../testing/servers/test-app.ts';

/** Source: identity, §3.6. */

const REVOKED = { code: 4200, reason: 'Grant revoked, please reconnect' };
const TEAM = { 'private-team-*': ['subscribe'] };
/** Enough that each thread has some of them. */
const SEVERAL = 8;

let server: Fanfare;
let app: TestApp;
beforeAll(async () => {
  server = await startFanfare({ threads: 2, onlyOne: 'figures' });
  app = await madeApp();
});
afterAll(() => server[Symbol.asyncDispose]());

function madeApp(): Promise<TestApp> {
  const channels = { 'private-user-{user}': ['subscribe'] };
  return newApp(server, { clientEvents: true, grants: { leewaySeconds: 0, channels } });
}

const now = () => Math.floor(Date.now() / 1000);

function token(claims: object = {}, { key, secret }: TestApp = app): string {
  const parts = [
    { alg: 'HS256', kid: key },
    { exp: now() + 60, iat: now(), sub: 'ann', channels: TEAM, ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signed = text.join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

async function revoke(body: object, at: TestApp = app): Promise<void> {
  const response = await at.post('/revocations', body);
  expect([response.status, await response.text()]).toEqual([200, '{}']);
}

const signInByToken = (auth: string) => ({ event: 'pusher:signin', data: { auth } });
const grantsOf = (id: string) => ({ id, grants: { channels: TEAM } });

/** Waits for events with these names, in this order, and for nothing else. */
async function receives(client: AppClient, ...names: readonly string[]): Promise<void> {
  for (const name of names) expect((await client.receive()).event).toBe(name);
}

const SIGNED_IN = 'pusher:signin_success';
const SUBSCRIBED = 'pusher_internal:subscription_succeeded';

function subscribe(client: AppClient, channel: string, auth = ''): void {
  client.send({ event: 'pusher:subscribe', data: { channel, auth } });
}

/** A connection that is in a channel by what it has sent. */
async function enters(
  message: (client: AppClient) => object,
  at: TestApp = app,
): Promise<AppClient> {
  const client = await at.connect();
  client.send(message(client));
  subscribe(client, 'private-team-7');
  await receives(client, SIGNED_IN, SUBSCRIBED);
  return client;
}

/** Whether a connection is served as before. */
async function stays(client: AppClient): Promise<void> {
  client.send({ event: 'pusher:ping', data: {} });
  await receives(client, 'pusher:pong');
}

/** What a connection is told that presents a token. */
async function presented(auth: string, at: TestApp = app): Promise<unknown> {
  await using client = await at.connect();
  client.send(signInByToken(auth));
  const { event, data } = await client.receive();
  return event === SIGNED_IN ? event : (data as { message: string }).message;
}

async function ended(client: AppClient): Promise<void> {
  const { event, data } = await client.receive();
  expect([event, data]).toEqual(['pusher:error', { code: 4200, message: REVOKED.reason }]);
  expect(await client.closed).toEqual(REVOKED);
}

/** The names of all events until a connection ends by a revocation. */
async function eventsUntilEnded(client: AppClient): Promise<readonly string[]> {
  expect(await client.closed).toEqual(REVOKED);
  const names: string[] = [];
  for (;;) {
    const { event, data } = await client.receive();
    names.push(event);
    if ((data as { code?: number }).code === REVOKED.code) return names;
  }
}

async function counted(line: string): Promise<number> {
  const { text } = await admin(server, 'GET', '//metrics');
  return Number(
    text
      .split('\n')
      .find((one) => one.startsWith(`${line} `))
      ?.split(' ')[1],
  );
}

describe('a revocation', () => {
  it('of a user ends all that hangs on grants of that user, and nothing else', async () => {
    const byGrant = (id: string) => enters((client) => app.signIn(client, grantsOf(id)));
    const byToken = (sub: string) => enters(() => signInByToken(token({ sub })));
    const anns = [];
    const others = [];
    for (let n = 0; n < SEVERAL / 2; n++) {
      anns.push(await byGrant('ann'), await byToken('ann'));
      others.push(await byGrant('bob'), await byToken('bob'));
    }
    // Signed in by a backend, and in a channel by its signature: nothing hangs on her grant.
    const signed = await app.connect();
    signed.send(app.signIn(signed, grantsOf('ann')));
    const channel = 'private-team-7';
    signed.send({ event: 'pusher:subscribe', data: { channel, ...app.auth(signed, channel) } });
    await receives(signed, SIGNED_IN, SUBSCRIBED);
    const before = await counted('fanfare_grants_ended_total{why="revoked"}');
    await revoke({ user_id: 'ann' });
    for (const client of anns) await ended(client);
    for (const client of [...others, signed]) await stays(client);
    expect(await counted('fanfare_grants_ended_total{why="revoked"}')).toBe(before + SEVERAL);
    expect(await presented(token())).toBe(SIGNED_IN);
    for (const client of [...others, signed]) await client[Symbol.asyncDispose]();
  });

  it('refuses what it means from its answer on, wherever it is presented', async () => {
    const old = token({ sub: 'carl' });
    const before = await counted('fanfare_tokens_total{result="revoked"}');
    await revoke({ user_id: 'carl' });
    const answers = await Promise.all(Array.from({ length: SEVERAL }, () => presented(old)));
    expect(new Set(answers)).toEqual(new Set(['Invalid token: it was revoked']));
    await using client = await app.connect();
    subscribe(client, 'private-team-7', old);
    await receives(client, 'pusher:error', 'pusher:subscription_error');
    expect(await counted('fanfare_tokens_total{result="revoked"}')).toBe(before + SEVERAL + 1);
    expect(await presented(token({ sub: 'carl', iat: undefined }))).toBe(
      'Invalid token: it was revoked',
    );
  });

  it('of a token is of this one, and refuses it also where it was accepted before', async () => {
    const auth = token({ sub: 'dora', jti: 'one' });
    const one = await enters(() => signInByToken(auth));
    const two = await enters(() => signInByToken(token({ sub: 'dora', jti: 'two' })));
    await revoke({ jti: 'one' });
    subscribe(one, 'private-team-8', auth);
    subscribe(one, 'private-team-9');
    expect(await eventsUntilEnded(one)).not.toContain(SUBSCRIBED);
    expect(await presented(auth)).toBe('Invalid token: it was revoked');
    await stays(two);
    await two[Symbol.asyncDispose]();
  });

  it('of all is of everybody in the app, and of nobody in another', async () => {
    const [here, there] = [await madeApp(), await madeApp()];
    const clients = [
      await enters((client) => here.signIn(client, grantsOf('ann')), here),
      await enters(() => signInByToken(token({ sub: 'bob' }, here)), here),
    ];
    const other = await enters(() => signInByToken(token({ sub: 'bob' }, there)), there);
    await revoke({ all: true }, here);
    for (const client of clients) await ended(client);
    await stays(other);
    expect(await presented(token({}, here), here)).toBe(SIGNED_IN);
    await other[Symbol.asyncDispose]();
  });

  it('of what was issued before a time leaves what was issued since', async () => {
    const auth = (iat: number) => token({ sub: 'emil', iat });
    const [old, young] = [now() - 100, now() - 50];
    const early = await enters(() => signInByToken(auth(old)));
    const late = await enters(() => signInByToken(auth(young)));
    await revoke({ user_id: 'emil', issued_before: old });
    await ended(early);
    await stays(late);
    // An earlier time takes nothing back.
    await revoke({ user_id: 'emil', issued_before: old - 10 });
    expect(await presented(auth(old))).toBe('Invalid token: it was revoked');
    await revoke({ user_id: 'emil', issued_before: young });
    await ended(late);
  });

  it('spares a connection that has another grant for what it is in', async () => {
    const old = () => signInByToken(token({ sub: 'finn', iat: now() - 50, exp: now() + 90 }));
    const client = await enters(old);
    const ends = await enters(old);
    client.send(signInByToken(token({ sub: 'finn' })));
    await receives(client, SIGNED_IN);
    await revoke({ user_id: 'finn', issued_before: now() - 10 });
    await ended(ends);
    await stays(client);
    await client[Symbol.asyncDispose]();
  });

  it('ends who is in a channel by the setting of the app', async () => {
    await using client = await app.connect();
    client.send(app.signIn(client, { id: 'gina' }));
    subscribe(client, 'private-user-gina');
    await receives(client, SIGNED_IN, SUBSCRIBED);
    await revoke({ user_id: 'gina' });
    await ended(client);
  });

  it('refuses a signature that a client has kept back, and lets it sign in on a new connection', async () => {
    await using held = await app.connect();
    const signature = app.signIn(held, grantsOf('hugo'));
    await revoke({ user_id: 'hugo' });
    held.send(signature);
    expect(await held.receive()).toMatchObject({
      data: { code: null, message: expect.stringContaining('grants were revoked after') },
    });
    await ended(held);
    await using client = await enters((fresh) => app.signIn(fresh, grantsOf('hugo')));
    await stays(client);
  });

  it('takes the right to send client events at once', async () => {
    const channel = 'private-team-7';
    await using watcher = await app.connect();
    await watcher.subscribe(channel, app.auth(watcher, channel));
    const channels = { 'private-team-*': ['subscribe', 'client-events'] };
    const client = await enters((fresh) => app.signIn(fresh, { id: 'ines', grants: { channels } }));
    const event = { event: 'client-x', channel, data: {} };
    client.send(event);
    await receives(watcher, 'client-x');
    await revoke({ user_id: 'ines' });
    client.send(event);
    await eventsUntilEnded(client);
    await app.trigger({ name: 'last', channel, data: 'x' });
    await receives(watcher, 'last');
  });
});

describe('a request to revoke', () => {
  it.each<[object | string, string]>([
    [{}, 'user_id, jti or all: exactly one is needed'],
    [{ user_id: 'ann', jti: 'id' }, 'user_id, jti or all: exactly one is needed'],
    [{ user_id: null }, 'user_id, jti or all: exactly one is needed'],
    [{ user_id: 'a b' }, 'user_id: must be a user id'],
    [{ jti: '' }, 'jti: must be a text of 1 to 200 characters'],
    [{ all: 1 }, 'all: must be true'],
    [{ all: true, issued_before: 4e9 }, 'issued_before: must not be in the future'],
    [{ all: true, issued_before: 'now' }, 'issued_before: must be whole seconds since 1970'],
    [{ user_id: 'ann', userId: 'ann' }, 'userId: unknown field'],
    ['[]', 'The body must be a JSON object'],
    ['', 'The body must be a JSON object'],
    [`{"jti":"${'x'.repeat(9000)}"}`, 'The body may have at most 8192 bytes'],
  ])('is refused with %j', async (body, why) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await app.api('POST', '/revocations', { body: text });
    expect([response.status, await response.text()]).toEqual([400, why]);
  });

  it('is refused for an app that takes no grants', async () => {
    const plain = await newApp(server);
    const response = await plain.post('/revocations', { all: true });
    expect([response.status, await response.text()]).toEqual([
      400,
      'revocations: the app takes no grants',
    ]);
  });

  it('needs the signature of the app', async () => {
    const body = '{"all":true}';
    const { status } = await app.api('POST', '/revocations', { body, secret: 'other' });
    expect(status).toBe(401);
  });
});

describe('what was revoked', () => {
  it('stays revoked after a restart and a kill, and after the app was changed', async () => {
    const jti = token({ sub: 'kurt', jti: 'stays' });
    const user = token({ sub: 'lena' });
    await revoke({ jti: 'stays' });
    server = await restart(server);
    await revoke({ user_id: 'lena' });
    server = await restart(server, 'SIGKILL');
    app = new TestApp(server, app);
    const patched = await admin(server, 'PATCH', `/apps/${app.id}`, { body: { name: 'other' } });
    expect(patched.status).toBe(200);
    for (const auth of [jti, user])
      expect(await presented(auth)).toBe('Invalid token: it was revoked');
    expect(await presented(token({ sub: 'mia' }))).toBe(SIGNED_IN);
  });

  it('is forgotten with the app', async () => {
    const { id, key, secret } = await madeApp();
    const first = new TestApp(server, { id, key, secret } as TestApp);
    const auth = token({ jti: 'old' }, first);
    await revoke({ jti: 'old' }, first);
    expect((await admin(server, 'DELETE', `/apps/${id}`)).status).toBeLessThan(300);
    const body = { id, keys: [{ key, secret }], grants: { leewaySeconds: 0 } };
    expect((await admin(server, 'POST', '/apps', { body })).status).toBe(201);
    expect(await presented(auth, first)).toBe(SIGNED_IN);
  });
});
