import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { admin } from '../../../testing/clients/admin-api.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';

/** Source: identity, §3. */

const SUCCEEDED = 'pusher_internal:subscription_succeeded';
const GRANTS = { leewaySeconds: 0, channels: { 'private-user-{user}': ['subscribe'] } };

let server: Fanfare;
let app: TestApp;
beforeAll(async () => {
  server = await startFanfare({
    threads: 2,
    config: { channels: { authorizationTimeoutSeconds: 1 } },
  });
  app = await newApp(server, { grants: GRANTS, clientEvents: true });
});
afterAll(() => server[Symbol.asyncDispose]());

const now = () => Math.floor(Date.now() / 1000);

function token(claims: object, { key, secret }: TestApp = app): string {
  const parts = [
    { alg: 'HS256', kid: key },
    { exp: now() + 60, sub: 'ann', ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signed = text.join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

function subscribe(client: AppClient, channel: string, data: object = {}): void {
  client.send({ event: 'pusher:subscribe', data: { channel, auth: '', ...data } });
}

const signInByToken = (auth: string) => ({ event: 'pusher:signin', data: { auth } });

/** The names of the next events, with their channels. */
async function next(client: AppClient, count: number): Promise<readonly string[]> {
  const seen: string[] = [];
  while (seen.length < count) {
    const { event, channel } = await client.receive();
    seen.push(channel === undefined ? event : `${event} ${String(channel)}`);
  }
  return seen;
}

/** What a refused subscription is told. */
async function refusal(client: AppClient): Promise<unknown> {
  const { event, data } = await client.receive();
  expect(event).toBe('pusher:error');
  const { event: second } = await client.receive();
  expect(second).toBe('pusher:subscription_error');
  return (data as { message: string }).message;
}

const TEAM = { 'private-team-*': ['subscribe'], 'presence-team': ['subscribe', 'client-events'] };

describe('a sign-in with grants', () => {
  const user = (more: object = {}) => ({
    id: 'ann',
    user_info: { name: 'Ann' },
    grants: { channels: TEAM, exp: now() + 60 },
    ...more,
  });

  it('lets the connection into the channels that it covers, without a signature for any', async () => {
    await using client = await app.connect();
    client.send(app.signIn(client, user()));
    expect(await next(client, 1)).toEqual(['pusher:signin_success']);
    for (const channel of ['private-team-7', 'private-user-ann']) {
      subscribe(client, channel);
      expect(await next(client, 1)).toEqual([`${SUCCEEDED} ${channel}`]);
    }
    subscribe(client, 'presence-team');
    const { data } = await client.receive();
    expect(JSON.parse(String(data)).presence).toEqual({
      count: 1,
      ids: ['ann'],
      hash: { ann: { name: 'Ann' } },
    });
  });

  it('lets those in that were asked for before it, in their order, after it has succeeded', async () => {
    await using client = await app.connect();
    const channels = Array.from({ length: 40 }, (_, n) => `private-team-${n}`);
    for (const channel of channels) subscribe(client, channel);
    subscribe(client, 'private-other');
    client.send(app.signIn(client, user()));
    expect(await next(client, 41)).toEqual([
      'pusher:signin_success',
      ...channels.map((channel) => `${SUCCEEDED} ${channel}`),
    ]);
    expect(await refusal(client)).toBe('No grant of this connection covers private-other');
  });

  it('refuses what waits for it if it is refused itself', async () => {
    await using client = await app.connect();
    subscribe(client, 'private-team-7');
    client.send({
      event: 'pusher:signin',
      data: { auth: `${app.key}:${'0'.repeat(64)}`, user_data: '{}' },
    });
    expect((await client.receive()).event).toBe('pusher:error');
    expect(await refusal(client)).toBe('No grant of this connection covers private-team-7');
  });

  it.each<[object, string]>([
    [{ channels: 'x' }, 'grants.channels must be an object of patterns and their rights'],
    [{ channels: {}, exp: 'soon' }, 'grants.exp must be a time in seconds since 1970'],
    [{ channels: {}, exp: 1 }, 'grants.exp must not be over'],
  ])('is refused as a whole with the grants %j', async (grants, why) => {
    await using client = await app.connect();
    client.send(app.signIn(client, user({ grants })));
    expect(await client.receive()).toEqual({
      event: 'pusher:error',
      data: { code: null, message: `Invalid user_data: ${why}` },
    });
  });

  it('means nothing in an app that takes none', async () => {
    const plain = await newApp(server);
    await using client = await plain.connect();
    client.send(plain.signIn(client, user()));
    expect(await next(client, 1)).toEqual(['pusher:signin_success']);
    subscribe(client, 'private-team-7');
    expect(await refusal(client)).toContain("should be of format 'key:signature'");
  });
});

describe('a subscription without authorisation', () => {
  it('is refused if nobody has signed in within the time', async () => {
    await using client = await app.connect();
    subscribe(client, 'private-team-7');
    subscribe(client, 'private-team-7');
    expect(await client.receive()).toMatchObject({
      data: { message: 'Existing subscription to channel private-team-7' },
    });
    expect(await refusal(client)).toBe(
      'Auth value for subscription to private-team-7 is missing, and the connection has not signed in within 1 s',
    );
  });

  it('waits behind no other frame, and 99 others wait beside it', async () => {
    await using client = await app.connect();
    for (let n = 0; n < 100; n++) subscribe(client, `private-${n}`);
    client.send({ event: 'pusher:ping', data: {} });
    expect(await next(client, 1)).toEqual(['pusher:pong']);
    subscribe(client, 'private-more');
    expect(await refusal(client)).toContain('100 subscriptions wait for the sign-in already');
  });

  it('is refused at once if its channel_data is too long to wait', async () => {
    await using client = await app.connect();
    const channel_data = JSON.stringify({ user_id: 'ann', user_info: { a: 'x'.repeat(2048) } });
    subscribe(client, 'presence-team', { channel_data });
    expect(await refusal(client)).toContain('2048 bytes at most');
  });

  it('waits no more once it is unsubscribed', async () => {
    await using client = await app.connect();
    subscribe(client, 'private-team-7');
    client.send({ event: 'pusher:unsubscribe', data: { channel: 'private-team-7' } });
    client.send(signInByToken(token({ channels: TEAM })));
    expect(await next(client, 1)).toEqual(['pusher:signin_success']);
    await client.receiveNothing();
  });
});

describe('a token', () => {
  it('signs in, and is confirmed with its user', async () => {
    await using client = await app.connect();
    subscribe(client, 'private-team-7');
    client.send(signInByToken(token({ user_info: { name: 'Ann' }, channels: TEAM })));
    const { event, data } = await client.receive();
    expect(event).toBe('pusher:signin_success');
    expect(JSON.parse(JSON.parse(String(data)).user_data)).toEqual({
      id: 'ann',
      user_info: { name: 'Ann' },
    });
    expect(await next(client, 1)).toEqual([`${SUCCEEDED} private-team-7`]);
  });

  it('opens a channel, and signs its user in without a word', async () => {
    await using client = await app.connect();
    const auth = token({ channels: TEAM });
    subscribe(client, 'private-team-1', { auth });
    expect(await next(client, 1)).toEqual([`${SUCCEEDED} private-team-1`]);
    const channel_data = '{"user_id":"ann","user_info":{"name":"made up"}}';
    subscribe(client, 'presence-team', { auth, channel_data });
    const { data } = await client.receive();
    expect(JSON.parse(String(data)).presence.hash).toEqual({ ann: null });
    const users = await admin(server, 'GET', `/apps/${app.id}/users/ann`);
    expect(users.status).not.toBe(500);
    const response = await app.post('/users/ann/terminate_connections', {});
    expect(response.status).toBe(200);
    expect(await client.closed).toMatchObject({ code: 4009 });
  });

  it('of nobody opens private channels only', async () => {
    await using client = await app.connect();
    const auth = token({ sub: undefined, channels: TEAM });
    subscribe(client, 'private-team-1', { auth });
    expect(await next(client, 1)).toEqual([`${SUCCEEDED} private-team-1`]);
    subscribe(client, 'presence-team', { auth });
    expect(await refusal(client)).toContain('Invalid token: the claim `sub` must be a user id');
    client.send(signInByToken(auth));
    expect(await client.receive()).toMatchObject({
      data: { message: 'Invalid token: the claim `sub` must be a user id' },
    });
  });

  it('is for one user, on one connection', async () => {
    await using client = await app.connect();
    client.send(signInByToken(token({ channels: TEAM })));
    expect(await next(client, 1)).toEqual(['pusher:signin_success']);
    subscribe(client, 'private-team-1', { auth: token({ sub: 'bob', channels: TEAM }) });
    expect(await refusal(client)).toBe('The connection is signed in as ann already');
    const channel_data = '{"user_id":"bob"}';
    subscribe(client, 'presence-team', { channel_data });
    expect(await refusal(client)).toBe(
      'Invalid channel_data: user_id must be ann, the user of the grant',
    );
  });

  it.each<[string, () => string]>([
    ['it has expired', () => token({ exp: now() - 1 })],
    ['the signature does not match', () => token({}, { ...app, secret: 'other' } as TestApp)],
    ['exp must be a time within 31 days', () => token({ exp: undefined })],
  ])('is refused for a sign-in and for a channel: %s', async (why, make) => {
    await using client = await app.connect();
    client.send(signInByToken(make()));
    const data = { code: null, message: `Invalid token: ${why}` };
    expect(await client.receive()).toEqual({ event: 'pusher:error', data });
    subscribe(client, 'private-team-1', { auth: make() });
    expect(await refusal(client)).toBe(`Invalid token: ${why}`);
  });

  it('may be of an issuer whose public key the app has', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const publicKeys = [String(publicKey.export({ type: 'spki', format: 'pem' }))];
    const refused = await admin(server, 'POST', '/apps', {
      body: { grants: { ...GRANTS, publicKeys } },
    });
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('grants.issuer: is required together with publicKeys'),
    ]);
    const named = { issuer: 'them', audience: 'ours' };
    const theirs = await newApp(server, { grants: { ...GRANTS, ...named, publicKeys } });
    const parts = [
      { alg: 'ES256' },
      { iss: 'them', aud: 'ours', sub: 'ann', channels: TEAM, exp: now() + 60 },
    ];
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    const how = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
    const signature = sign('sha256', Buffer.from(text.join('.')), how).toString('base64url');
    await using client = await theirs.connect();
    client.send(signInByToken(`${text.join('.')}.${signature}`));
    expect(await next(client, 1)).toEqual(['pusher:signin_success']);
    subscribe(client, 'private-team-1');
    expect(await next(client, 1)).toEqual([`${SUCCEEDED} private-team-1`]);
  });

  it('is no user_data', async () => {
    await using client = await app.connect();
    client.send({ event: 'pusher:signin', data: { auth: token({}), user_data: '{"id":"ann"}' } });
    expect(await client.receive()).toMatchObject({
      data: { message: 'Invalid user_data: it must be empty beside a token' },
    });
  });
});

describe('client events', () => {
  it('need the right in a channel that was entered by a grant', async () => {
    await using client = await app.connect();
    client.send(signInByToken(token({ channels: TEAM })));
    await next(client, 1);
    for (const channel of ['private-team-1', 'presence-team']) subscribe(client, channel);
    await next(client, 2);
    const event = (channel: string) => ({ event: 'client-x', channel, data: {} });
    client.send(event('presence-team'));
    client.send(event('private-team-1'));
    expect(await client.receive()).toEqual({
      event: 'pusher:error',
      data: {
        code: null,
        message:
          'Client event rejected: no grant of this connection allows client events in private-team-1',
      },
    });
  });

  it('need none in a channel that was entered by a signature', async () => {
    await using client = await app.connect();
    const channel = 'private-other';
    client.send({ event: 'pusher:subscribe', data: { channel, ...app.auth(client, channel) } });
    await next(client, 1);
    client.send({ event: 'client-x', channel, data: {} });
    await client.receiveNothing();
  });
});

describe('the end of a grant', () => {
  const EXPIRED = { code: 4200, reason: 'Grant expired, please reconnect' };

  it('closes a connection with 4200 that is in a channel by it', async () => {
    await using client = await app.connect();
    const grants = { channels: TEAM, exp: now() + 2 };
    client.send(app.signIn(client, { id: 'ann', grants }));
    subscribe(client, 'private-team-7');
    await next(client, 2);
    expect(await client.receive()).toEqual({
      event: 'pusher:error',
      data: { code: 4200, message: EXPIRED.reason },
    });
    expect(await client.closed).toEqual(EXPIRED);
  });

  it('closes one that is signed in by a token, and in no channel', async () => {
    await using client = await app.connect();
    client.send(signInByToken(token({ exp: now() + 2 })));
    expect(await client.closed).toEqual(EXPIRED);
  });

  it('spares a connection that got another one before, and channels by signature', async () => {
    await using renewed = await app.connect();
    await using ended = await app.connect();
    for (const client of [renewed, ended]) {
      client.send(signInByToken(token({ exp: now() + 3, channels: TEAM })));
      subscribe(client, 'private-team-7');
    }
    renewed.send(signInByToken(token({ exp: now() + 60, channels: TEAM })));
    await using signed = await app.connect();
    signed.send(app.signIn(signed, { id: 'ann', grants: { channels: TEAM, exp: now() + 2 } }));
    const channel = 'private-team-7';
    signed.send({ event: 'pusher:subscribe', data: { channel, ...app.auth(signed, channel) } });
    expect(await ended.closed).toEqual(EXPIRED);
    for (const client of [renewed, signed]) {
      client.send({ event: 'pusher:ping', data: {} });
      expect((await next(client, client === renewed ? 4 : 3)).at(-1)).toBe('pusher:pong');
    }
  });
});
