import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { type ThrowAwayDatabase, throwAwayPostgres } from '../../testing/databases/postgres.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type OwnRedis, startRedis } from '../../testing/servers/redis.ts';
import { TcpProxy } from '../../testing/servers/tcp-proxy.ts';
import { type AppClient, appAt, type TestApp } from '../../testing/servers/test-app.ts';

/** Revocations of several servers. Source: identity, §3.6. */

const REVOKED = { code: 4200, reason: 'Grant revoked, please reconnect' };
const TEAM = { 'private-team-*': ['subscribe'] };
const SIGNED_IN = 'pusher:signin_success';
const SUBSCRIBED = 'pusher_internal:subscription_succeeded';
const APP = { grants: { leewaySeconds: 0 } };

let parts: AsyncDisposableStack;
let redis: OwnRedis;
let store: ThrowAwayDatabase;
/** The way of all servers to PostgreSQL. */
let toStore: TcpProxy;
let servers: readonly Fanfare[];

const start = (threads: number) =>
  startFanfare({
    threads,
    app: APP,
    config: {
      engine: { type: 'redis', url: redis.url },
      store: { url: String(Object.assign(new URL(store.url), { port: toStore.port })) },
    },
  });

beforeAll(async () => {
  parts = new AsyncDisposableStack();
  redis = parts.use(await startRedis());
  store = parts.use(await throwAwayPostgres());
  toStore = parts.use(await TcpProxy.start(Number(new URL(store.url).port)));
  servers = [parts.use(await start(1)), parts.use(await start(2))];
}, 180_000);
afterAll(() => parts.disposeAsync());

const apps = () => servers.map(appAt) as [TestApp, TestApp];
const now = () => Math.floor(Date.now() / 1000);

function token(claims: object): string {
  const [{ key, secret }] = apps();
  const all = { exp: now() + 60, iat: now(), channels: TEAM, ...claims };
  const made = [{ alg: 'HS256', kid: key }, all].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signed = made.join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const signIn = (auth: string) => ({ event: 'pusher:signin', data: { auth } });

async function enters(app: TestApp, message: (client: AppClient) => object): Promise<AppClient> {
  const client = await app.connect();
  client.send(message(client));
  client.send({ event: 'pusher:subscribe', data: { channel: 'private-team-7', auth: '' } });
  expect((await client.receive()).event).toBe(SIGNED_IN);
  expect((await client.receive()).event).toBe(SUBSCRIBED);
  return client;
}

/** What a server says to a token. */
async function answer(app: TestApp, auth: string): Promise<unknown> {
  await using client = await app.connect();
  client.send(signIn(auth));
  const { event, data } = await client.receive();
  return event === SIGNED_IN ? event : (data as { message: string }).message;
}

const isRevoked = (text: unknown) => text === 'Invalid token: it was revoked';

describe('a revocation at one of two servers', () => {
  it.each([0, 1])('ends what it means on both, and is known to both (server %d)', async (at) => {
    const user = `ann-${at}`;
    const ends: AppClient[] = [];
    const stays: AppClient[] = [];
    for (const app of apps()) {
      const grants = { channels: TEAM };
      ends.push(await enters(app, (client) => app.signIn(client, { id: user, grants })));
      ends.push(await enters(app, () => signIn(token({ sub: user }))));
      stays.push(await enters(app, () => signIn(token({ sub: 'bob' }))));
    }
    const old = token({ sub: user });
    const [here, there] = at === 0 ? apps() : apps().toReversed();
    if (here === undefined || there === undefined) throw new Error('no server');
    expect((await here.post('/revocations', { user_id: user })).status).toBe(200);
    expect(isRevoked(await answer(here, old))).toBe(true);
    await eventually(() => answer(there, old), isRevoked);
    for (const client of ends) expect(await client.closed).toEqual(REVOKED);
    for (const client of stays) {
      client.send({ event: 'pusher:ping', data: {} });
      expect((await client.receive()).event).toBe('pusher:pong');
      await client[Symbol.asyncDispose]();
    }
    for (const app of apps()) expect(await answer(app, token({ sub: user }))).toBe(SIGNED_IN);
  });

  it('is known to one that starts later', async () => {
    const [app] = apps();
    const old = token({ sub: 'carl', jti: 'carl' });
    expect((await app.post('/revocations', { jti: 'carl' })).status).toBe(200);
    await using later = await start(1);
    expect(await answer(appAt(later), old)).toBe('Invalid token: it was revoked');
  });
});

describe('while PostgreSQL is away', () => {
  it('nothing that was revoked comes back, and nothing more is revoked', async () => {
    const [one, two] = apps();
    const old = token({ sub: 'dora' });
    expect((await one.post('/revocations', { user_id: 'dora' })).status).toBe(200);
    await eventually(() => answer(two, old), isRevoked);
    toStore.doesRefuse = true;
    toStore.cut();
    const emil = token({ sub: 'emil' });
    for (const app of [one, two]) {
      const refused = await app.post('/revocations', { user_id: 'emil' });
      expect([refused.status, refused.headers.get('retry-after'), await refused.text()]).toEqual([
        503,
        '1',
        'The store cannot be reached now, try again',
      ]);
      expect(isRevoked(await answer(app, old))).toBe(true);
      expect(await answer(app, emil)).toBe(SIGNED_IN);
    }
    toStore.doesRefuse = false;
    const revoke = async () => (await one.post('/revocations', { user_id: 'emil' })).status;
    await eventually(revoke, (status) => status === 200);
    await eventually(() => answer(two, emil), isRevoked);
    for (const app of [one, two]) expect(isRevoked(await answer(app, old))).toBe(true);
  });
});

describe('servers with a store each', () => {
  it('revoke nothing', async () => {
    const engine = { type: 'redis', url: redis.url, keyPrefix: 'own:' };
    await using server = await startFanfare({
      app: APP,
      config: { engine, push: { port: 0, instances: [] } },
    });
    const refused = await appAt(server).post('/revocations', { all: true });
    expect([refused.status, await refused.text()]).toEqual([
      400,
      'revocations need a store that all servers share',
    ]);
  });
});
