import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import {
  authParameters,
  type Given,
  hmacHex,
  signedQuery,
  styles,
} from '../../../src/transports/channels-api/library-signing.fixture.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { type ApiCall, api } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import {
  type Answered,
  EMPTY,
  gets,
  json,
  posts,
  refused,
  seen,
  subscriber,
  TEXT_TYPE,
} from './exchange.ts';

const NOTHING_LISTED = json('{"channels":{}}');
const nowSeconds = () => Math.floor(Date.now() / 1000);

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    app: {
      keys: [
        { key: APP.key, secret: APP.secret },
        { key: 'second-key', secret: 'second-secret' },
      ],
    },
    moreApps: [{ id: '4', keys: [{ key: 'other-key', secret: 'other-secret' }] }],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

async function lists(call: ApiCall = {}, appId: string = APP.id): Promise<Answered> {
  const query = { filter_by_prefix: 'nothing-', ...call.query };
  return await seen(await api(server, 'GET', `/apps/${appId}/channels`, { ...call, query }));
}

/** Sends a target unchanged, and reads the answer. */
async function raw(method: string, target: string, body?: string | Uint8Array): Promise<Answered> {
  await using connection = await RawHttp.open(server);
  const answer = await connection.request({
    method,
    target,
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: answer.status,
    type: answer.headers.get('content-type') ?? null,
    text: answer.body,
  };
}

/** A listing with the query as given, signed with the query `signed`. */
function listingTarget(sent: string, signed = sent): string {
  const path = `/apps/${APP.id}/channels`;
  const auth = `auth_key=${APP.key}&auth_timestamp=${nowSeconds()}&auth_version=1.0`;
  const signature = hmacHex(APP.secret, `GET\n${path}\n${auth}&${signed}`);
  return `${path}?${sent}&${auth}&auth_signature=${signature}`;
}

describe('a request is answered 401 with a plain text', () => {
  const drop = (name: string) => ({ tamper: (sent: Map<string, string>) => sent.delete(name) });
  const set = (name: string, value: string) => ({
    tamper: (sent: Map<string, string>) => sent.set(name, value),
  });
  const INVALID = `Invalid signature: you should have sent HmacSHA256Hex("GET\\n/apps/3/channels\\nauth_key=`;
  const cases: readonly (readonly [when: string, call: ApiCall, text: string | RegExp])[] = [
    ['without a key', drop('auth_key'), 'Missing parameter: auth_key'],
    ['with an unknown key', { key: 'unknown' }, 'Unknown auth_key'],
    [
      'with the key of another app',
      { key: 'other-key', secret: 'other-secret' },
      'Unknown auth_key',
    ],
    ['without a version', drop('auth_version'), 'Version required'],
    ['with another version', set('auth_version', '2.0'), 'Version not supported'],
    ['without a timestamp', drop('auth_timestamp'), 'Timestamp required'],
    [
      'with a timestamp that is not an integer',
      set('auth_timestamp', '1353088179.5'),
      /^Timestamp required: auth_timestamp must be an integer/,
    ],
    [
      'with an old timestamp',
      set('auth_timestamp', '1353089779'),
      /^Timestamp expired: Given timestamp \(2012-11-16T18:16:19Z\) not within 600s of server time \(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\)$/,
    ],
    ['without a signature', drop('auth_signature'), 'Missing parameter: auth_signature'],
    ['with a signature of nothing', set('auth_signature', 'abc'), /but you sent "abc"$/],
    ['with the secret of another app', { secret: 'other-secret' }, /^Invalid sign/],
    ['with the secret of another key', { secret: 'second-secret' }, /^Invalid sign/],
    ['with a parameter that was not signed', set('info', ''), /^Invalid signature: /],
    ['with a parameter that was changed', set('filter_by_prefix', ''), /^Invalid signature: /],
    ['with another MD5', { query: { body_md5: 'abc' } }, /^Invalid body_md5/],
  ];
  it.each(cases)('%s', async (_, call, text) => {
    const answer = await lists(call);
    expect(answer).toEqual(
      refused(401, typeof text === 'string' ? text : expect.stringMatching(text)),
    );
  });

  it('with the text that should have been signed', async () => {
    const { text } = await lists(set('auth_signature', 'abc'));
    expect(text).toStartWith(INVALID);
    expect(text).toEndWith('", your_secret_key), but you sent "abc"');
  });

  it.each(['5', '03', '3.0', '__proto__', 'a%2Fb', '%'])(
    'with the unknown app id %s',
    async (appId) => {
      expect(await lists({}, appId)).toEqual(refused(401, 'Unknown auth_key'));
    },
  );

  it('before anything else of the request is read', async () => {
    for (const path of ['/events', '/batch_events', '/channels/a/events']) {
      const call = { body: '{', secret: 'wrong' };
      const answer = await seen(await api(server, 'POST', `/apps/3${path}`, call));
      expect(answer).toEqual(refused(401, expect.stringContaining('Invalid signature')));
    }
    for (const path of ['/channels/a', '/channels/a!/users', '/channels/a/stats']) {
      const answer = await seen(await api(server, 'GET', `/apps/3${path}`, { key: 'x' }));
      expect(answer).toEqual(refused(401, 'Unknown auth_key'));
    }
  });
});

describe('the body of a request', () => {
  const path = `/apps/${APP.id}/events`;
  const body = '{"name":"n","channel":"signed-body","data":"d"}';
  const targetOf = (parameters: readonly Given[]) =>
    styles.map((style) => `${path}?${signedQuery(style, APP.secret, 'POST', path, parameters)}`);

  it('must be the signed one; otherwise nothing is sent', async () => {
    await using client = await subscriber(server, 'signed-body');
    for (const target of targetOf(authParameters(APP.key, nowSeconds(), body))) {
      expect(await raw('POST', target, body.replace('"d"', '"e"'))).toEqual(
        refused(401, expect.stringMatching(/^Invalid body_md5/)),
      );
      expect(await raw('POST', target, '')).toMatchObject({ status: 401 });
      await client.receiveNothing();
      expect(await raw('POST', target, body)).toEqual(EMPTY);
      expect(await client.receive()).toMatchObject({ event: 'n' });
    }
  });

  it('must be signed', async () => {
    for (const target of targetOf(authParameters(APP.key, nowSeconds()))) {
      expect(await raw('POST', target, body)).toEqual(
        refused(401, 'Missing parameter: body_md5 is required when the body is not empty'),
      );
    }
  });

  it('may be empty, with the MD5 of nothing or without an MD5', async () => {
    const md5: Given = ['body_md5', 'd41d8cd98f00b204e9800998ecf8427e'];
    const query: readonly Given[] = [
      ['name', 'n'],
      ['data', 'd'],
      ['channel', 'a'],
      ...authParameters(APP.key, nowSeconds()),
    ];
    for (const target of [...targetOf(query), ...targetOf([...query, md5])]) {
      expect(await raw('POST', target, '')).toEqual(EMPTY);
      expect(await raw('POST', target)).toEqual(EMPTY);
    }
    expect(await lists({ query: { body_md5: String(md5[1]) } })).toEqual(NOTHING_LISTED);
  });

  it('is signed byte for byte', async () => {
    const bytes = new TextEncoder().encode(body.replace('"d"', '"é🎺"'));
    expect(await posts(server, '/events', bytes)).toEqual(EMPTY);
  });
});

describe('the clock of a backend', () => {
  const off = async (seconds: number) =>
    await raw(
      'GET',
      `/apps/3/channels?${signedQuery(
        styles[0] ?? expect.unreachable(),
        APP.secret,
        'GET',
        '/apps/3/channels',
        [['filter_by_prefix', 'nothing-'], ...authParameters(APP.key, nowSeconds() + seconds)],
      )}`,
    );

  it('may be off by almost ten minutes', async () => {
    // One second less than allowed: a second may pass before the request arrives.
    for (const seconds of [-598, -300, 300, 599])
      expect(await off(seconds)).toEqual(NOTHING_LISTED);
  });

  it('may not be off by ten minutes', async () => {
    for (const seconds of [-601, -600, 601]) {
      expect(await off(seconds)).toEqual(refused(401, expect.stringMatching(/^Timestamp expired/)));
    }
  });
});

describe('any key of the app', () => {
  it('signs, with its own secret', async () => {
    expect(await lists({ key: 'second-key', secret: 'second-secret' })).toEqual(NOTHING_LISTED);
    expect(await lists()).toEqual(NOTHING_LISTED);
    expect(await lists({ key: 'other-key', secret: 'other-secret' }, '4')).toEqual(NOTHING_LISTED);
  });
});

describe('the query of a request', () => {
  it('may have keys in any case', async () => {
    const target = listingTarget('filter_by_prefix=nothing-').replaceAll(
      /(auth|filter)[a-z_]+=/g,
      (name) => name.toUpperCase(),
    );
    expect(target).toContain('AUTH_KEY=');
    expect(await raw('GET', target)).toEqual(NOTHING_LISTED);
  });

  it('is signed in its decoded form', async () => {
    const text = 'a b&c=d+é"';
    const signed = `filter_by_prefix=${text}`;
    expect(
      await raw('GET', listingTarget(`filter_by_prefix=${encodeURIComponent(text)}`, signed)),
    ).toEqual(NOTHING_LISTED);
    expect(
      await raw('GET', listingTarget(`filter%5Fby%5fprefix=${encodeURIComponent(text)}`, signed)),
    ).toEqual(NOTHING_LISTED);
    expect(
      await raw('GET', listingTarget(signed.replaceAll(' ', '%20').replace('&', '%26'), signed)),
    ).toEqual(NOTHING_LISTED);
  });

  it.each([
    '#',
    ',',
    '#server-to-user-a',
    'a,b;c@d',
    '{}',
    '"',
    "'",
    '<>',
    '|^`\\',
    'é',
    '%',
    '/../x',
    'a=b',
    '?',
  ])('may be sent without escaping, as Go does: %s', async (text) => {
    const query = `filter_by_prefix=nothing-${text}`;
    expect(await raw('GET', listingTarget(query))).toEqual(NOTHING_LISTED);
  });

  it('may use a plus sign as a plus sign or as a space', async () => {
    const query = 'filter_by_prefix=nothing-+x';
    expect(await raw('GET', listingTarget(query))).toEqual(NOTHING_LISTED);
    expect(await raw('GET', listingTarget(query, query.replace('+', ' ')))).toEqual(NOTHING_LISTED);
    expect(await raw('GET', listingTarget(query.replace('+', '%2B'), query))).toEqual(
      NOTHING_LISTED,
    );
    expect(await raw('GET', listingTarget(query, query.replace('+', '')))).toMatchObject({
      status: 401,
    });
  });

  it('is read in the form that was signed: a plus sign in data stays a plus sign', async () => {
    await using client = await subscriber(server, 'plus');
    const path = `/apps/${APP.id}/events`;
    const auth = `auth_key=${APP.key}&auth_timestamp=${nowSeconds()}&auth_version=1.0`;
    const send = async (sent: string, signed: string) => {
      const text = `POST\n${path}\n${auth}&channel=plus&data=${signed}&name=n`;
      const signature = hmacHex(APP.secret, text);
      const query = `channel=plus&data=${sent}&name=n&${auth}&auth_signature=${signature}`;
      expect(await raw('POST', `${path}?${query}`, '')).toEqual(EMPTY);
      expect(await client.receive()).toMatchObject({ data: signed });
    };
    await send('1+1', '1+1');
    await send('1+1', '1 1');
    await send('1%2B1+1', '1+1 1');
  });

  it.each(styles)('may hold an array, signed as $library does', async (style) => {
    await using client = await subscriber(server, 'array-1', 'array-2');
    const path = `/apps/${APP.id}/events`;
    const query: readonly Given[] = [
      ['name', 'n'],
      ['data', 'a, b+c'],
      ['channels', ['array-2', 'array-1']],
      ['channels_more', 'x'],
      ['channels1', 'y'],
      ...authParameters(APP.key, nowSeconds()),
    ];
    const target = `${path}?${signedQuery(style, APP.secret, 'POST', path, query)}`;
    expect(await raw('POST', target, '')).toEqual(EMPTY);
    expect(await client.receive()).toEqual({ event: 'n', channel: 'array-2', data: 'a, b+c' });
    expect(await client.receive()).toEqual({ event: 'n', channel: 'array-1', data: 'a, b+c' });
  });

  it.each(styles)('may hold an array of one, signed as $library does', async (style) => {
    await using client = await subscriber(server, 'array-of-one');
    const path = `/apps/${APP.id}/events`;
    const query: readonly Given[] = [
      ['name', 'n'],
      ['data', 'd'],
      ['channels', ['array-of-one']],
      ...authParameters(APP.key, nowSeconds()),
    ];
    const target = `${path}?${signedQuery(style, APP.secret, 'POST', path, query)}`;
    expect(await raw('POST', target, '')).toEqual(EMPTY);
    expect(await client.receive()).toMatchObject({ event: 'n' });
  });
});

describe('the path of a request', () => {
  it('is signed in the form in which it is sent', async () => {
    expect(await gets(server, '/channels/a,b=c@d;e')).toEqual(json('{"occupied":false}'));
    expect(await gets(server, '/channels/a%2Cb%3Dc%40d%3Be')).toEqual(json('{"occupied":false}'));
    expect(await gets(server, '/channels/%23server-to-user-1')).toEqual(json('{"occupied":false}'));
  });

  it('may have its app id percent-encoded', async () => {
    expect(await lists({}, '%33')).toEqual(NOTHING_LISTED);
  });

  it('may be part of an absolute URL, as a proxy sends it', async () => {
    const target = listingTarget('filter_by_prefix=nothing-');
    expect(await raw('GET', `http://example.org:8080${target}`)).toEqual(NOTHING_LISTED);
  });
});

describe('the log', () => {
  it('names the app and the reason, but never a secret', async () => {
    await lists({ key: 'logged-key' });
    const line = await server.logged(/Request refused.*Unknown auth_key/);
    expect(JSON.parse(line)).toMatchObject({
      level: 'info',
      address: '127.0.0.1',
      method: 'GET',
      path: '/apps/3/channels',
      status: 401,
    });
    expect(server.output.stderr).not.toContain(APP.secret);
    expect(server.output.stderr).not.toContain('second-secret');
  });
});

it('a refusal is plain text even if the request asks for JSON', async () => {
  const answer = await api(server, 'GET', '/apps/3/channels', {
    key: 'x',
    headers: { accept: 'application/json' },
  });
  expect(answer.headers.get('content-type')).toBe(TEXT_TYPE);
});
