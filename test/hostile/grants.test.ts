import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../testing/servers/test-app.ts';

/** What a hostile client gains by grants. Source: identity, §3.7. */

const TEAM = { 'private-team': ['subscribe'] };
const SIGNED_IN = 'pusher:signin_success';
/** How many frames a second one connection may send; ten times as many at once. */
const FRAMES = 100;
/** What a refused token of an asymmetric key counts as. */
const COSTLY = 100;

const issuer = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicKeys = [String(issuer.publicKey.export({ type: 'spki', format: 'pem' }))];

let server: Fanfare;
let app: TestApp;
let other: TestApp;
beforeAll(async () => {
  server = await startFanfare({ onlyOne: 'figures', channels: { framesPerSecond: FRAMES } });
  const grants = (audience: string) => ({
    grants: { leewaySeconds: 0, publicKeys, issuer: 'them', audience },
    clientEvents: true,
    limits: { clientEventsPerSecond: 1, channelsPerConnection: 500 },
  });
  app = await newApp(server, grants('ours'));
  other = await newApp(server, grants('theirs'));
});
afterAll(() => server[Symbol.asyncDispose]());

const now = () => Math.floor(Date.now() / 1000);

/** A token of the secret of an app. */
function shared({ key, secret }: TestApp, claims: object = {}): string {
  return signed({ alg: 'HS256', kid: key }, claims, (text) =>
    new Bun.CryptoHasher('sha256', secret).update(text).digest('base64url'),
  );
}

/** A token of the issuer that both apps believe, or of somebody else. */
function issued(aud: string, key: KeyObject = issuer.privateKey, claims: object = {}): string {
  return signed({ alg: 'ES256' }, { iss: 'them', aud, ...claims }, (text) =>
    sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url'),
  );
}

function signed(header: object, claims: object, seal: (text: string) => string): string {
  const all = { sub: 'ann', iat: now(), exp: now() + 60, channels: TEAM, ...claims };
  const parts = [header, all].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const text = parts.join('.');
  return `${text}.${seal(text)}`;
}

const signIn = (auth: string, more: object = {}) => ({
  event: 'pusher:signin',
  data: { auth, ...more },
});

/** What a new connection is told that signs in. */
async function told(message: object, at: TestApp = app): Promise<unknown> {
  await using client = await at.connect();
  client.send(message);
  const { event, data } = await client.receive();
  return event === SIGNED_IN ? event : (data as { message: string }).message;
}

async function counted(name: string): Promise<number> {
  const { text } = await admin(server, 'GET', '//metrics');
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1],
  );
}

describe('nobody gains anything by', () => {
  it('a token of another app, by its secret or by an issuer that both believe', async () => {
    expect(await told(signIn(shared(app)), app)).toBe(SIGNED_IN);
    expect(await told(signIn(issued('ours')), app)).toBe(SIGNED_IN);
    expect(await told(signIn(shared(app)), other)).toBe(
      'Invalid token: no key of this app fits its kid and alg',
    );
    const renamed = shared({ ...app, key: other.key } as TestApp);
    expect(await told(signIn(renamed), other)).toBe('Invalid token: the signature does not match');
    expect(await told(signIn(issued('ours')), other)).toBe(
      'Invalid token: the audience is another',
    );
  });

  it("somebody else's token, once it is revoked", async () => {
    const stolen = shared(app, { jti: 'stolen' });
    expect(await told(signIn(stolen))).toBe(SIGNED_IN);
    expect((await app.post('/revocations', { jti: 'stolen' })).status).toBe(200);
    expect(await told(signIn(stolen))).toBe('Invalid token: it was revoked');
  });

  it('a signature as a token, or a token as a signature', async () => {
    await using client = await app.connect();
    const { auth } = app.auth(client, 'private-team');
    const signature = auth.slice(auth.indexOf(':') + 1);
    for (const made of [`${signature}.${signature}.${signature}`, `e30.e30.${signature}`]) {
      client.send(signIn(made));
      expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
    }
    // What a backend signed for a channel, as a token whose text that is.
    const text = `${client.socketId}:private-team`;
    client.send(signIn(`${Buffer.from(text).toString('base64url')}..${signature}`));
    expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
    const mac = shared(app).split('.')[2];
    client.send(signIn(`${app.key}:${mac}`, { user_data: '{"id":"ann"}' }));
    expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
    const data = { channel: 'private-team', auth: `${app.key}:${mac}` };
    client.send({ event: 'pusher:subscribe', data });
    expect(await client.receive()).toMatchObject({ event: 'pusher:error' });
  });

  it('thousands of subscriptions that wait: 100 do, and are gone with their connection', async () => {
    const clients: AppClient[] = [];
    for (let n = 0; n < 3; n++) {
      const client = await app.connect();
      clients.push(client);
      for (let m = 0; m < 400; m++) {
        client.send({ event: 'pusher:subscribe', data: { channel: `private-${m}`, auth: '' } });
      }
      client.send({ event: 'pusher:ping', data: {} });
      while ((await client.receive()).event !== 'pusher:pong');
    }
    expect(await counted('fanfare_waiting_subscriptions')).toBe(300);
    for (const client of clients) await client[Symbol.asyncDispose]();
    await eventually(
      () => counted('fanfare_waiting_subscriptions'),
      (waiting) => waiting === 0,
    );
  });

  it('a sign-in as one user and a token of another', async () => {
    await using client = await app.connect();
    client.send(app.signIn(client, { id: 'bob' }));
    expect((await client.receive()).event).toBe(SIGNED_IN);
    const data = { channel: 'private-team', auth: shared(app) };
    client.send({ event: 'pusher:subscribe', data });
    expect(await client.receive()).toMatchObject({
      data: { message: 'The connection is signed in as bob already' },
    });
    client.send(signIn(shared(app)));
    expect((await client.receive()).event).toBe('pusher:subscription_error');
    expect(await client.receive()).toMatchObject({
      data: { message: 'The connection is signed in as bob already' },
    });
  });

  it('client events in a channel that the grant lets only read: refused, counted, shown', async () => {
    const channel = 'private-team';
    await using watcher = await app.connect();
    await watcher.subscribe(channel, app.auth(watcher, channel));
    await using client = await app.connect();
    client.send({ event: 'pusher:subscribe', data: { channel, auth: shared(app) } });
    expect((await client.receive()).event).toBe('pusher_internal:subscription_succeeded');
    const line = 'fanfare_client_problems_total{problem="client-event-not-granted"}';
    const before = await counted(line);
    client.send({ event: 'client-x', channel, data: {} });
    expect(await client.receive()).toMatchObject({
      data: { message: expect.stringContaining(`allows client events in ${channel}`) },
    });
    expect(await counted(line)).toBe(before + 1);
    const { text } = await admin(server, 'GET', `/apps/${app.id}/problems`);
    expect(text).toContain('allows client events');
    await app.trigger({ name: 'last', channel, data: 'x' });
    expect((await watcher.receive()).event).toBe('last');
  });
});

describe('tokens that are costly to refuse end their connection with 1008,', () => {
  /** Twice what the burst allows: a slow machine pays off some meanwhile. */
  const VERIFIED_MAX = (2 * 10 * FRAMES) / COSTLY;
  /** Those above the burst are dropped unread, and one frame more than twice the burst ends the connection. */
  const SENT = 1.5 * 10 * FRAMES;

  const tokens: readonly (readonly [string, string, () => string])[] = [
    ['with a wrong signature', 'signature', () => issued('ours', stranger.privateKey)],
    [
      'with a right one that have expired',
      'expired',
      () => issued('ours', undefined, { exp: now() - 1 }),
    ],
    ['that were accepted before', 'accepted', () => issued('ours')],
  ];

  it.each(tokens)('%s', async (_, result, make) => {
    const line = `fanfare_tokens_total{result="${result}"}`;
    const before = await counted(line);
    const auth = make();
    const clients = 4;
    for (let n = 0; n < clients; n++) {
      await using client = await app.connect();
      for (let m = 0; m < SENT; m++) client.send(signIn(auth));
      expect(await client.closed).toMatchObject({ code: 1008 });
    }
    const verified = (await counted(line)) - before;
    expect(verified).toBeLessThanOrEqual(clients * VERIFIED_MAX);
    expect(verified).toBeGreaterThan(0);
  });
});

it('a flood of tokens with wrong signatures is refused slowly, and holds up no other app', async () => {
  /** Up to the burst of a connection, so that none is ended. */
  const each = Math.floor((10 * FRAMES) / (COSTLY + 1));
  const line = 'fanfare_tokens_total{result="signature"}';
  const auth = issued('ours', stranger.privateKey);
  const clients: AppClient[] = [];
  for (let n = 0; n < 40; n++) clients.push(await app.connect());
  const sent = each * clients.length;
  const before = await counted(line);
  const waits = server.logsNext(/A token waits/);
  const began = performance.now();
  for (const client of clients) for (let n = 0; n < each; n++) client.send(signIn(auth));
  expect(await told(signIn(issued('theirs')), other)).toBe(SIGNED_IN);
  expect(await waits).toContain(app.id);
  let refused = 0;
  while (refused < sent) {
    refused = (await counted(line)) - before;
    // What both buckets allow at once, and what each second adds.
    expect(refused).toBeLessThanOrEqual(10 + (performance.now() - began) * 0.501);
  }
  expect(await counted('fanfare_waiting_tokens')).toBe(0);
  expect(await told(signIn(issued('ours')))).toBe(SIGNED_IN);
  for (const client of clients) await client[Symbol.asyncDispose]();
});
