import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { createHmac } from 'node:crypto';
import { EventReader } from '../../../testing/clients/event-reader.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import { issuedToken, newIssuerKey, TokenIssuer } from '../../../testing/servers/token-issuer.ts';
import { fresh } from '../websocket/conversation.ts';

/** Readers with a token in `Authorization`. Source: streams, §2.1; identity, §3. */

const stops = new AsyncDisposableStack();
let server: Fanfare;
let issuer: TokenIssuer;
let app: TestApp;
/** Takes no tokens. */
let plain: TestApp;
beforeAll(async () => {
  issuer = stops.use(new TokenIssuer());
  server = stops.use(
    await startFanfare({
      threads: 2,
      config: { webhooks: { allowPrivateAddresses: true } },
    }),
  );
  app = await newApp(server, {
    grants: { leewaySeconds: 0, channels: { 'private-user-{user}': ['subscribe'] } },
    history: [{ channels: 'private-kept-*' }],
    limits: { connections: 100 },
  });
  plain = await newApp(server);
});
afterAll(() => stops.disposeAsync());

const now = () => Math.floor(Date.now() / 1000);

function tokenOf(claims: object, { key, secret }: TestApp = app): string {
  const parts = [
    { alg: 'HS256', kid: key },
    { exp: now() + 60, sub: 'ann', ...claims },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signed = text.join('.');
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const subscribeTo = (...names: readonly string[]) => ({
  channels: Object.fromEntries(names.map((name) => [name, ['subscribe']])),
});

const pathOf = (channel: string, { id }: TestApp = app) =>
  `/apps/${id}/channels/${encodeURIComponent(channel)}/stream`;
const pathTo = (...channels: readonly string[]) =>
  `/apps/${app.id}/stream?channels=${channels.join(',')}`;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const open = (target: string, token: string, headers: Readonly<Record<string, string>> = {}) =>
  EventReader.open(server, target, { ...bearer(token), ...headers });

async function refusal(target: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(`http://127.0.0.1:${server.port}${target}`, { headers });
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  return `${response.status} ${(await response.text()).trim()}`;
}

/** The code with which a stream ends. */
async function endOf(reader: EventReader): Promise<number> {
  for (;;) {
    const { data } = await reader.event();
    const { event, data: said } = JSON.parse(data);
    if (event !== 'pusher:error') continue;
    expect(await reader.ended).toBe('ended');
    return said.code;
  }
}

describe('a reader with a token', () => {
  it.each([
    'private-team-7',
    'private-encrypted-team',
    'presence-team',
    // By the setting of the app.
    'private-user-ann',
    // Public means public.
    'news',
  ])('reads %s, which it covers', async (channel) => {
    const token = tokenOf(subscribeTo('private-team-*', 'private-encrypted-team', 'presence-team'));
    await using reader = await open(pathOf(channel), token);
    await reader.confirmed();
    if (channel.includes('encrypted')) return;
    await app.trigger({ name: 'said', channel, data: 'hello' });
    expect(await reader.message()).toBe('hello');
  });

  it('reads several channels, and nothing if one of them is not covered', async () => {
    const [first, second] = [`private-${fresh()}`, `private-${fresh()}`];
    const token = tokenOf(subscribeTo(first));
    expect(await refusal(pathTo(first, second), bearer(token))).toBe(
      `401 ${second}: the token does not cover it`,
    );
    const { channels } = (await (await app.api('GET', '/channels')).json()) as {
      channels: object;
    };
    expect(Object.keys(channels)).not.toContain(first);
    await using reader = await open(pathTo(first, 'news'), token);
    await reader.confirmed(2);
  });

  it('needs the right to subscribe, and for the channel of its user a signature', async () => {
    const channel = `private-${fresh()}`;
    const token = tokenOf({ channels: { [channel]: ['client-events'] } });
    expect(await refusal(pathOf(channel), bearer(token))).toBe(
      `401 ${channel}: the token does not cover it`,
    );
    expect(await refusal(pathOf('private-user-bob'), bearer(token))).toBe(
      '401 private-user-bob: the token does not cover it',
    );
    expect(await refusal(pathOf('#server-to-user-ann'), bearer(token))).toBe(
      '401 #server-to-user-ann: needs a signed URL',
    );
  });

  it('is refused with a token that is not right', async () => {
    const target = pathOf('news');
    const other = await newApp(server, { grants: {} });
    for (const [token, why] of [
      ['x', 'it must be a JWT of at most 8192 characters'],
      [`${tokenOf({})}x`, 'the signature does not match'],
      [tokenOf({}, other), 'no key of this app fits its kid and alg'],
      [tokenOf({ exp: now() - 5 }), 'it has expired'],
    ]) {
      expect(await refusal(target, bearer(token ?? ''))).toBe(`401 Invalid token: ${why}`);
    }
  });

  it('is nobody: no member, not signed in, and not online', async () => {
    const channel = `presence-${fresh()}`;
    await using reader = await open(
      pathOf(channel),
      tokenOf({ ...subscribeTo(channel), sub: 'eve' }),
    );
    await reader.confirmed();
    const users = await app.api('GET', `/channels/${channel}/users`);
    expect(await users.json()).toEqual({ users: [] });
    const statuses = await app.post('/users/status', { users: ['eve'] });
    expect(await statuses.text()).not.toContain('"online":true');
  });

  it('says nothing else than who it is: other credentials count before it, and parameters are the same', async () => {
    const channel = `private-${fresh()}`;
    const token = tokenOf(subscribeTo(channel));
    expect(await refusal(`${pathOf(channel)}?key=${app.key}`, bearer(token))).toBe(
      `401 ${channel}: needs a signed URL`,
    );
    expect(await refusal(`${pathOf(channel)}?expires=${now() + 60}`, bearer(token))).toStartWith(
      '400 ',
    );
    expect(await refusal(`${pathOf(channel)}?after=wrong`, bearer(token))).toBe(
      '400 after: must be the last id that was read',
    );
    const missing = await refusal(pathOf('news', plain), {});
    expect(missing).toStartWith('401 Missing parameter');
    // As before, where the app takes no tokens.
    expect(await refusal(pathOf('news', plain), bearer(tokenOf({}, plain)))).toBe(missing);
    expect(await refusal(pathOf('news'), { authorization: 'Basic YTpi' })).toBe(missing);
  });

  it('is bound to allowedOrigins, as a WebSocket with a token is', async () => {
    const strict = await newApp(server, { grants: {}, allowedOrigins: ['good.example'] });
    const headers = bearer(tokenOf({}, strict));
    const from = (origin: string) => ({ ...headers, origin });
    expect(await refusal(pathOf('news', strict), from('https://evil.example'))).toBe(
      '403 Origin not allowed',
    );
    const origin = { origin: 'https://good.example' };
    await using reader = await open(pathOf('news', strict), tokenOf({}, strict), origin);
    await reader.confirmed();
  });

  it('ends with its token, and goes on with the next one', async () => {
    const channel = `private-kept-${fresh()}`;
    const target = pathOf(channel);
    const short = tokenOf({ ...subscribeTo(channel), exp: now() + 2 });
    await using reader = await open(target, short);
    await using ofPublic = await open(pathOf('news'), tokenOf({ exp: now() + 2 }));
    await reader.confirmed();
    await app.trigger({ name: 'said', channel, data: 'first' });
    expect(await reader.message()).toBe('first');
    expect(await endOf(reader)).toBe(4200);
    expect(await endOf(ofPublic)).toBe(4200);
    await app.trigger({ name: 'said', channel, data: 'second' });
    expect(await refusal(target, bearer(short))).toBe('401 Invalid token: it has expired');
    const place = { 'last-event-id': reader.lastId ?? '' };
    await using next = await open(target, tokenOf(subscribeTo(channel)), place);
    expect(await next.message()).toBe('second');
  });

  it.each([
    ['its jti', { jti: 'one' }],
    ['its user', { user_id: 'zoe' }],
  ])('ends when it is revoked by %s, and is refused afterwards', async (_, revocation) => {
    const channel = `private-${fresh()}`;
    const of = (sub: string, jti: string) =>
      tokenOf({ ...subscribeTo(channel), sub, jti, iat: now() - 5 });
    const token = 'jti' in revocation ? of('max', 'one') : of('zoe', 'three');
    await using stays = await open(pathOf(channel), of('max', 'two'));
    await using reader = await open(pathOf(channel), token);
    await reader.confirmed();
    await stays.confirmed();
    expect((await app.post('/revocations', revocation)).status).toBe(200);
    expect(await endOf(reader)).toBe(4200);
    expect(await refusal(pathOf(channel), bearer(token))).toBe('401 Invalid token: it was revoked');
    await app.trigger({ name: 'said', channel, data: 'still here' });
    expect(await stays.message()).toBe('still here');
  });
});

describe('a token of an issuer with a key set', () => {
  const key = newIssuerKey('ES256');

  it('lets its bearer read, and is refused if another has signed it', async () => {
    issuer.publish(key);
    const at = await newApp(server, { grants: issuer.grants('/jwks/readers') });
    const claims = subscribeTo('private-a');
    await using reader = await open(pathOf('private-a', at), issuedToken(key, claims));
    await reader.confirmed();
    const forged = issuedToken({ ...newIssuerKey('ES256'), kid: key.kid }, claims);
    // However many there are: those that wait for their turn are answered, too.
    const refused = await Promise.all(
      Array.from({ length: 30 }, () => refusal(pathOf('private-a', at), bearer(forged))),
    );
    expect(new Set(refused)).toEqual(new Set(['401 Invalid token: the signature does not match']));
    await using next = await open(pathOf('private-a', at), issuedToken(key, claims));
    await next.confirmed();
  });

  it('is sent away for a while if no keys of the issuer are known', async () => {
    await using broken = new TokenIssuer();
    broken.answers(() => new Response(null, { status: 500 }));
    const at = await newApp(server, { grants: broken.grants() });
    const headers = bearer(issuedToken(key, subscribeTo('private-a')));
    expect(await refusal(pathOf('private-a', at), headers)).toStartWith('503 ');
    await using reader = await open(pathOf('private-a', at), issuedToken(key), {
      accept: 'text/event-stream',
    });
    expect(await endOf(reader)).toBe(4100);
  });

  it('takes no place of the app while it waits for its keys, also if its bearer leaves', async () => {
    await using slow = new TokenIssuer();
    slow.publish(newIssuerKey('ES256'));
    const limits = { connections: 1 };
    const at = await newApp(server, { grants: slow.grants(), limits });
    await eventually(
      () => slow.requests.length,
      (requests) => requests > 0,
    );
    const answered = Promise.withResolvers<Response>();
    slow.answers(() => answered.promise);
    const target = pathOf('private-a', at);
    const abort = new AbortController();
    const waiting = fetch(`http://127.0.0.1:${server.port}${target}`, {
      headers: bearer(issuedToken(key, subscribeTo('private-a'))),
      signal: abort.signal,
    });
    await eventually(
      () => slow.requests.length,
      (requests) => requests > 1,
    );
    const other = await at.connect();
    abort.abort();
    await expect(waiting).rejects.toThrow('abort');
    slow.publish(key);
    answered.resolve(slow.keySet());
    await other.leave();
    await using reader = await open(target, issuedToken(key, subscribeTo('private-a')));
    await reader.confirmed();
  });
});
