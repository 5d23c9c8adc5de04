import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'bun:test';
import { admin } from '../../../testing/clients/admin-api.ts';
import { eventually } from '../../../testing/eventually.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { selfSigned } from '../../../testing/servers/openssl.ts';
import { type AppClient, newApp, type TestApp } from '../../../testing/servers/test-app.ts';
import {
  type IssuerKey,
  issuedToken,
  newIssuerKey,
  TokenIssuer,
} from '../../../testing/servers/token-issuer.ts';
import { temporaryDirectory } from '../../cli/run-fanfare.ts';

/** Source: identity, §3.4. */

const SUCCEEDED = 'pusher_internal:subscription_succeeded';
const UNREACHABLE = 'Keys of the token issuer cannot be reached, please reconnect later';
const NO_KEY = 'Invalid token: no key of this app fits its kid and alg';
const TEAM = { channels: { 'private-team-*': ['subscribe'], 'presence-team': ['subscribe'] } };

const stops = new AsyncDisposableStack();
let server: Fanfare;
let issuer: TokenIssuer;
/** Presents a certificate that the server does not trust. */
let untrusted: TokenIssuer;

beforeAll(async () => {
  const directory = stops.use(temporaryDirectory()).path;
  const certificate = selfSigned(directory, 'issuer');
  issuer = stops.use(new TokenIssuer(certificate));
  untrusted = stops.use(new TokenIssuer(selfSigned(directory, 'other')));
  server = stops.use(
    await startFanfare({
      threads: 2,
      environment: { NODE_EXTRA_CA_CERTS: certificate.certFile },
      config: { webhooks: { allowPrivateAddresses: true } },
    }),
  );
});
afterAll(() => stops.disposeAsync());

const keys = {
  RS256: newIssuerKey('RS256'),
  ES256: newIssuerKey('ES256'),
  EdDSA: newIssuerKey('EdDSA'),
};
const { ES256: known } = keys;
beforeEach(() => issuer.publish(...Object.values(keys)));

let made = 0;
/** An app that takes tokens of the issuer; nobody else asks for its key set. */
const appOf = (from = issuer): Promise<TestApp> => {
  made += 1;
  return newApp(server, { grants: from.grants(`/jwks/${made}`) });
};

const signIn = (client: AppClient, key: IssuerKey, claims: object = TEAM) =>
  client.send({ event: 'pusher:signin', data: { auth: issuedToken(key, claims) } });

const subscribe = (client: AppClient, channel: string, data: object = { auth: '' }) =>
  client.send({ event: 'pusher:subscribe', data: { channel, ...data } });

async function next(client: AppClient, count = 1): Promise<readonly string[]> {
  const seen: string[] = [];
  while (seen.length < count) {
    const { event, channel, data } = await client.receive();
    const said = (data as { message?: string } | undefined)?.message;
    seen.push([event, channel ?? said].filter(Boolean).join(' '));
  }
  return seen;
}

/** What the conditions of the servers say of an app. */
async function conditionOf(app: TestApp): Promise<string> {
  const { json } = await admin(server, 'GET', '/conditions');
  const found = JSON.stringify(json).match(new RegExp(`The key set of app ${app.id} at [^"]*`));
  return found?.[0] ?? '';
}

async function checkAuth(app: TestApp, auth: string): Promise<string> {
  const { json } = await admin(server, 'POST', `/apps/${app.id}/check-auth`, {
    body: { channel: 'private-team-1', socketId: '1.1', auth },
  });
  return (json as { text: string }).text;
}

describe('tokens of an issuer with a key set', () => {
  it.each(['RS256', 'ES256', 'EdDSA'] as const)('sign in, and open channels: %s', async (alg) => {
    const app = await appOf();
    await using client = await app.connect();
    const channels = Array.from({ length: 40 }, (_, n) => `private-team-${n}`);
    for (const channel of channels) subscribe(client, channel);
    subscribe(client, 'presence-team');
    signIn(client, keys[alg]);
    expect(await next(client, 42)).toEqual([
      'pusher:signin_success',
      ...[...channels, 'presence-team'].map((channel) => `${SUCCEEDED} ${channel}`),
    ]);
    await using other = await app.connect();
    subscribe(other, 'private-team-1', { auth: issuedToken(keys[alg], TEAM) });
    expect(await next(other)).toEqual([`${SUCCEEDED} private-team-1`]);
    expect(await checkAuth(app, issuedToken(keys[alg], TEAM))).toContain('is valid');
  });

  it('are accepted by a key that was added, once one names it', async () => {
    const app = await appOf();
    await using before = await app.connect();
    signIn(before, known);
    await next(before);
    const added = newIssuerKey('EdDSA');
    issuer.publish(added);
    await using client = await app.connect();
    // The first one is refused where a busy machine fetches the set for longer than a sign-in waits.
    await eventually(
      () => {
        signIn(client, added);
        return next(client);
      },
      ([answer]) => answer === 'pusher:signin_success',
    );
    subscribe(client, 'private-team-1');
    expect(await next(client)).toEqual([`${SUCCEEDED} private-team-1`]);
    // The connections of a removed key stay; its tokens are refused.
    subscribe(before, 'private-team-2');
    expect(await next(before)).toEqual([`${SUCCEEDED} private-team-2`]);
    subscribe(client, 'private-team-3', { auth: issuedToken(known, TEAM) });
    expect(await next(client, 2)).toEqual([
      `pusher:error ${NO_KEY}`,
      'pusher:subscription_error private-team-3',
    ]);
  });

  it('make the server fetch the set once, however many name keys that it lacks', async () => {
    const app = await appOf();
    await using first = await app.connect();
    signIn(first, known);
    await next(first);
    const path = new URL(issuer.grants(`/jwks/${made}`).jwksUrl).pathname;
    for (let n = 0; n < 20; n++) {
      await using client = await app.connect();
      signIn(client, newIssuerKey('EdDSA'));
      expect(await next(client)).toEqual([`pusher:error ${NO_KEY}`]);
    }
    const asked = issuer.requests.filter((one) => one === path);
    // Once when the app was made, and once for the tokens.
    expect(asked).toHaveLength(2 * server.nodes.length);
  });
});

describe('an issuer that does not answer', () => {
  it('delays sign-ins by its tokens, and nothing else', async () => {
    const late = Promise.withResolvers<void>();
    issuer.answers(async () => {
      await late.promise;
      return issuer.keySet();
    });
    const app = await appOf();
    await using client = await app.connect();
    signIn(client, known);
    client.send({ event: 'pusher:ping', data: {} });
    await using other = await app.connect();
    subscribe(other, 'private-x', app.auth(other, 'private-x'));
    expect(await next(other)).toEqual([`${SUCCEEDED} private-x`]);
    await using gone = await app.connect();
    signIn(gone, known);
    await gone.leave();
    late.resolve();
    expect(await next(client, 2)).toEqual(['pusher:signin_success', 'pusher:pong']);
  });

  it('leaves its last keys in use', async () => {
    const app = await appOf();
    await using first = await app.connect();
    signIn(first, known);
    await next(first);
    issuer.answers(() => new Response('down', { status: 503 }));
    await using client = await app.connect();
    signIn(client, newIssuerKey('ES256'));
    expect(await next(client)).toEqual([`pusher:error ${NO_KEY}`]);
    signIn(client, known);
    expect(await next(client)).toEqual(['pusher:signin_success']);
    expect(
      await eventually(
        () => conditionOf(app),
        (text) => text !== '',
      ),
    ).toContain('HTTP 503. Its last keys are used for 24 h more.');
  });

  it('sends its clients away with 4100 if no key is known yet, and those of no other app', async () => {
    const neighbour = await appOf();
    issuer.answers(() => new Response('', { status: 404 }));
    const app = await appOf();
    for (const send of [
      (client: AppClient) => signIn(client, known),
      (client: AppClient) =>
        subscribe(client, 'private-team-1', { auth: issuedToken(known, TEAM) }),
    ]) {
      await using client = await app.connect();
      send(client);
      expect(await client.receive()).toEqual({
        event: 'pusher:error',
        data: { code: 4100, message: UNREACHABLE },
      });
      expect(await client.closed).toEqual({ code: 4100, reason: UNREACHABLE });
    }
    expect(await conditionOf(app)).toContain('cannot be fetched: HTTP 404. Clients');
    expect(await checkAuth(app, issuedToken(known, TEAM))).toBe(
      `${NO_KEY}. The key set cannot be fetched: HTTP 404.`,
    );
    await using client = await neighbour.connect();
    signIn(client, known);
    expect(await next(client)).toEqual(['pusher:signin_success']);
    const { text } = await admin(server, 'GET', '//metrics');
    expect(text).toMatch(/fanfare_key_set_fetches_total\{result="failed"\} [1-9]/);
    expect(text).toMatch(/fanfare_key_set_fetches_total\{result="fetched"\} [1-9]/);
  });
});

describe('an issuer that lies', () => {
  const lies: readonly (readonly [what: string, why: string, answer: () => Response])[] = [
    [
      'redirects',
      'HTTP 302; redirects are not followed',
      () => Response.redirect(issuer.urlOf('/elsewhere'), 302),
    ],
    [
      'sends a page',
      'the answer is no key set: it is no JSON object with `keys`',
      () => new Response('<html>'),
    ],
    [
      'sends too much',
      'the answer is no key set: it has more than 65536 bytes',
      () => new Response(`{"keys":[]}${' '.repeat(1_000_000)}`),
    ],
    [
      'sends too many keys',
      'the answer is no key set: it has more than 100 keys',
      () => Response.json({ keys: Array(101).fill({}) }),
    ],
  ];
  it.each(lies)('has no key set: it %s', async (_, why, answer) => {
    issuer.answers(answer);
    const app = await appOf();
    await using client = await app.connect();
    signIn(client, known);
    expect((await client.closed).code).toBe(4100);
    expect(await conditionOf(app)).toContain(`cannot be fetched: ${why}.`);
  });

  it('has keys that are not used', async () => {
    const secret = newIssuerKey('ES256');
    const listed = [
      secret.privateKey.export({ format: 'jwk' }),
      { kty: 'oct', k: Buffer.from('secret').toString('base64url') },
      { ...known.publicKey.export({ format: 'jwk' }), use: 'enc' },
    ];
    issuer.answers(() => Response.json({ keys: listed }));
    const app = await appOf();
    await using client = await app.connect();
    for (const key of [secret, known]) {
      signIn(client, key);
      expect(await next(client)).toEqual([`pusher:error ${NO_KEY}`]);
    }
    expect(await conditionOf(app)).toContain(
      'has no key that can be used. What it has is ignored: private or secret; not for signatures.',
    );
  });

  it('has another certificate', async () => {
    untrusted.publish(known);
    const app = await appOf(untrusted);
    await using client = await app.connect();
    signIn(client, known);
    expect((await client.closed).code).toBe(4100);
    expect(untrusted.requests).toEqual([]);
  });
});

it('refuses settings that are incomplete, or have a password', async () => {
  for (const [grants, why] of [
    [{ ...issuer.grants(), issuer: null }, 'grants.issuer: is required together with jwksUrl'],
    [{ ...issuer.grants(), audience: '' }, 'grants.audience: is required together with jwksUrl'],
    [
      { ...issuer.grants(), jwksUrl: 'ftp://x.example' },
      'grants.jwksUrl: must be an http or https URL',
    ],
    [
      { ...issuer.grants(), jwksUrl: 'https://a:b@x.example' },
      'grants.jwksUrl: must have no user and no password',
    ],
  ]) {
    const { status, text } = await admin(server, 'POST', '/apps', { body: { grants } });
    expect([status, text]).toEqual([400, expect.stringContaining(String(why))]);
  }
});

it('does not fetch key sets from private addresses unless that is allowed', async () => {
  await using strict = await startFanfare();
  const plain = stops.use(new TokenIssuer());
  plain.publish(known);
  const app = await newApp(strict, { grants: plain.grants() });
  await using client = await app.connect();
  signIn(client, known);
  expect((await client.closed).code).toBe(4100);
  expect(plain.requests).toEqual([]);
  const { json } = await admin(strict, 'POST', `/apps/${app.id}/check-auth`, {
    body: { channel: 'private-team-1', socketId: '1.1', auth: issuedToken(known, TEAM) },
  });
  expect(json).toMatchObject({
    text: expect.stringContaining('webhooks.allowPrivateAddresses allows it'),
  });
});

it('fetches them by plain HTTP from private addresses', async () => {
  const plain = stops.use(new TokenIssuer());
  plain.publish(known);
  const app = await appOf(plain);
  await using client = await app.connect();
  signIn(client, known);
  expect(await next(client)).toEqual(['pusher:signin_success']);
});
