import { describe, expect, it } from 'bun:test';
import { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { requestTarget } from '../request-target.ts';
import { Access, type Denial, type LogIn } from './access.ts';
import type { AdminRequestHead } from './request-head.ts';
import { BrowserSessions } from './sessions.ts';

const PASSWORD = 'geheim: ü';

interface Given {
  readonly method?: string;
  readonly url?: string;
  readonly peer?: string;
  readonly isHttp10?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request as curl sends it on this machine, with the given changes. */
function head({ method = 'GET', url = '/metrics', peer = '127.0.0.1', ...given }: Given) {
  const headers: Readonly<Record<string, string>> = {
    host: '127.0.0.1:6003',
    'user-agent': 'curl/8',
    accept: '*/*',
    ...given.headers,
  };
  return {
    method,
    target: requestTarget(url),
    peer,
    isHttp10: given.isHttp10 ?? false,
    isForProxy: !url.startsWith('/'),
    header: (name) => headers[name],
    headerNames: Object.keys(headers),
  } satisfies AdminRequestHead;
}

/** A password as clients send it: the bytes of UTF-8. */
const bearer = (password: string) => ({
  authorization: `Bearer ${Buffer.from(password).toString('latin1')}`,
});
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});

function accessWith({
  password = PASSWORD,
  trusted = [],
  metricsAreOpen = true,
  userProxies,
  groupsSeparator = ',',
}: {
  readonly password?: string | null;
  readonly trusted?: readonly string[];
  readonly metricsAreOpen?: boolean;
  /** Addresses of proxies that name users in `Remote-User` and groups in `Remote-Groups`. */
  readonly userProxies?: readonly string[];
  readonly groupsSeparator?: string;
} = {}) {
  const clock = { nowMs: 0 };
  let current = password ?? undefined;
  const sessions = new BrowserSessions({ password: () => current, now: () => clock.nowMs });
  const access = new Access({
    password: () => current,
    metricsAreOpen,
    trustedProxies: new TrustedProxies(trusted),
    sessions,
    userProxy: userProxies && {
      trusted: new TrustedProxies(userProxies),
      userHeader: 'remote-user',
      groupsHeader: 'remote-groups',
      groupsSeparator,
    },
    now: () => clock.nowMs,
  });
  const check = (given: Given): Denial | undefined => {
    const asked = head(given);
    return access.identify(asked, access.senderOf(asked)).denial;
  };
  return {
    clock,
    check,
    status: (given: Given): number => check(given)?.status ?? 200,
    changePassword(to: string) {
      current = to;
    },
    senderOf: (given: Given) => access.senderOf(head(given)),
    /** Who sent a request, or the reason of its denial. */
    who(given: Given) {
      const { caller, denial } = access.identify(head(given), access.senderOf(head(given)));
      return caller ?? denial?.reason;
    },
    /** The cookie of a new session. */
    cookie: () => sessions.open({ isSecure: false })[0]?.split(';')[0] ?? '',
    isStillIdentified: (given: Given) => access.isStillIdentified(head(given)),
    hasUntrustedUser: (given: Given) => access.hasUntrustedUser(head(given)),
    logIn: (given: LogIn) => access.checkLogIn(given, access.senderOf(head({}))),
    makeLink: () => sessions.makeLink(),
  };
}

describe('the admin API', () => {
  it('accepts the password as a bearer token, or as basic credentials of any user', () => {
    const { status } = accessWith();
    for (const headers of [bearer(PASSWORD), basic('', PASSWORD), basic('anybody', PASSWORD)]) {
      expect(status({ url: '/api/v1/apps?secrets=true', headers })).toBe(200);
      expect(status({ url: '/api/v1/apps', method: 'POST', headers, peer: '192.0.2.7' })).toBe(200);
    }
  });

  it.each([
    bearer('geheim'),
    bearer(`${PASSWORD}x`),
    bearer(''),
    basic('admin', 'geheim'),
    basic(PASSWORD, ''),
    { authorization: 'Bearer' },
    { authorization: `Digest ${PASSWORD.slice(0, 6)}` },
    { authorization: 'Basic %%%' },
    { authorization: 'Basic ' },
    { authorization: '' },
    {},
  ])('lets nobody else in: %j', (headers) => {
    const { check } = accessWith();
    for (const method of ['GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS']) {
      const denial = check({ method, url: '/api/v1/apps', headers });
      expect(denial).toMatchObject({ status: 401 });
      expect(denial?.error).not.toContain('geheim');
    }
  });

  it('denies every request if there is no password', () => {
    const { status } = accessWith({ password: null });
    for (const headers of [bearer(''), bearer('undefined'), bearer('null'), basic('', ''), {}]) {
      expect(status({ url: '/api/v1/live', headers })).toBe(401);
    }
  });

  it('follows a changed password', () => {
    const { status, changePassword } = accessWith();
    expect(status({ headers: bearer(PASSWORD) })).toBe(200);
    changePassword('another');
    expect(status({ url: '/api/v1/live', headers: bearer(PASSWORD) })).toBe(401);
    expect(status({ url: '/api/v1/live', headers: bearer('another') })).toBe(200);
  });
});

describe('metrics without the password', () => {
  it.each<Given>([
    {},
    { url: '/metrics?x=1' },
    { peer: '::1', headers: { host: '[::1]:6003' } },
    { peer: '::ffff:127.0.0.1', headers: { host: 'LOCALHOST' } },
    { peer: '127.9.9.9', headers: { host: '127.0.0.2:80' } },
    { headers: { 'sec-fetch-site': 'none' } },
  ])('are for programs on this machine: %j', (given) => {
    expect(accessWith().status(given)).toBe(200);
    expect(accessWith({ metricsAreOpen: false }).status(given)).toBe(401);
    expect(accessWith().status({ ...given, url: '/api/v1/live' })).toBe(401);
  });

  it.each([
    ['an address of this machine that others can reach', { peer: '192.0.2.2' }],
    ['another machine', { peer: '192.0.2.7' }],
    ['nobody knows where', { peer: '' }],
  ] as const)('are not for requests from %s', (_, given) => {
    expect(accessWith().status(given)).toBe(401);
  });

  it.each<Given>([
    { isHttp10: true },
    { url: 'http://127.0.0.1:6003/metrics' },
    ...[
      'via',
      'forwarded',
      'x-forwarded-for',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-forwarded-port',
      'x-forwarded-server',
      'x-forwarded-prefix',
      'x-real-ip',
      'x-client-ip',
      'x-cluster-client-ip',
      'x-original-forwarded-for',
      'x-original-host',
      'x-envoy-external-address',
      'x-amzn-trace-id',
      'x-azure-clientip',
      'true-client-ip',
      'client-ip',
      'cf-connecting-ip',
      'cf-ray',
      'cdn-loop',
      'fastly-client-ip',
      'fly-client-ip',
      'proxy-connection',
    ].map((name) => ({ headers: { [name]: 'x' } })),
  ])('are not for what came through a proxy: %j', (given) => {
    expect(accessWith().status(given)).toBe(401);
    expect(accessWith({ trusted: ['127.0.0.1'] }).status(given)).toBe(401);
  });

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil.example:6003',
    '127.0.0.1@evil.example',
    '[::1].evil.example',
    '0.0.0.0',
    '0.0.0.0:6003',
    '[::]',
    '10.0.0.1',
    '127.1',
    '2130706433',
    '0177.0.0.1',
    '',
  ])('are not for a page that was made to name this machine (DNS rebinding): %s', (host) => {
    expect(accessWith().status({ headers: { host } })).toBe(401);
  });

  it.each([
    { origin: 'https://evil.example' },
    { origin: 'http://127.0.0.1:6003' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'whatever comes next' },
  ])('are not for pages of a browser: %j', (headers) => {
    expect(accessWith().status({ headers })).toBe(401);
  });

  it('can only be read', () => {
    for (const method of ['POST', 'DELETE', 'OPTIONS', 'HEAD']) {
      expect(accessWith().status({ method })).toBe(401);
    }
  });
});

describe('a page of another site', () => {
  const own = { ...basic('', PASSWORD), host: 'admin.example' };

  it.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'https://admin.example.evil.example' },
    { origin: 'https://evil-admin.example' },
    { origin: 'https://admin.example:8443' },
    { origin: 'null' },
    { origin: '' },
    { origin: 'file://' },
    { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
  ])('changes nothing, although the browser adds the password: %j', (headers) => {
    for (const method of ['POST', 'PATCH', 'DELETE', 'PUT']) {
      expect(
        accessWith().check({ method, url: '/api/v1/apps', headers: { ...own, ...headers } }),
      ).toMatchObject({ status: 403, reason: 'other-site' });
    }
  });

  it.each([
    {},
    { 'sec-fetch-site': 'same-origin' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://dashboard.example', host: 'upstream' },
    { origin: 'https://admin.example' },
    { origin: 'http://admin.example' },
    { origin: 'https://admin.example', host: 'ADMIN.example:443' },
    { origin: 'http://127.0.0.1:6003', host: '127.0.0.1:6003', 'sec-fetch-site': 'same-origin' },
    { origin: 'http://[::1]:6003', host: '[::1]:6003' },
  ])('is not mistaken for one of its own: %j', (headers) => {
    const given = { method: 'POST', url: '/api/v1/apps', headers: { ...own, ...headers } };
    expect(accessWith().status(given)).toBe(200);
  });
});

describe('wrong passwords', () => {
  const url = '/api/v1/live';
  const wrong = bearer('wrong');
  const right = bearer(PASSWORD);

  it('are limited to 10, after which even the right password is refused for a while', () => {
    const { status, check, clock } = accessWith();
    for (let n = 0; n < 10; n++) expect(status({ url, headers: wrong })).toBe(401);
    for (const headers of [wrong, right]) {
      expect(check({ url, headers })).toMatchObject({
        status: 429,
        reason: 'too-many-wrong-passwords',
        retryAfterSeconds: 6,
      });
    }
    clock.nowMs = 6_000;
    expect(status({ url, headers: right })).toBe(200);
    clock.nowMs = 66_000;
    let refused = 0;
    while (status({ url, headers: wrong }) === 401) refused++;
    expect(refused).toBe(10);
  });

  it('do not include requests with the right password, or without one', () => {
    const { status } = accessWith();
    for (let n = 0; n < 50; n++) {
      expect(status({ url, headers: right })).toBe(200);
      expect(status({ url })).toBe(401);
      expect(status({})).toBe(200);
    }
  });

  it('of one address do not count for others; all addresses of an IPv6 network count as one', () => {
    const { status } = accessWith();
    for (let n = 0; n < 12; n++) {
      status({ url, headers: wrong, peer: '192.0.2.1' });
      status({ url, headers: wrong, peer: `2001:db8::${n}` });
    }
    expect(status({ url, headers: right, peer: '192.0.2.1' })).toBe(429);
    expect(status({ url, headers: right, peer: '2001:db8::ffff' })).toBe(429);
    expect(status({ url, headers: right, peer: '192.0.2.2' })).toBe(200);
    expect(status({ url, headers: right, peer: '2001:db8:0:1::1' })).toBe(200);
  });

  it.each<Given>([
    { isHttp10: true },
    { headers: { 'x-forwarded-for': '203.0.113.7' } },
    { headers: { forwarded: 'for=203.0.113.7' } },
    { headers: { via: '1.1 proxy' } },
    { headers: { origin: 'https://evil.example' } },
    { headers: { 'sec-fetch-site': 'cross-site' } },
  ])('that were forwarded do not lock out the command line beside them: %j', (given) => {
    const { status } = accessWith();
    for (let n = 0; n < 20; n++) status({ ...given, url, headers: { ...given.headers, ...wrong } });
    expect(status({ ...given, url, headers: { ...given.headers, ...right } })).toBe(429);
    expect(status({ url, headers: right })).toBe(200);
  });

  it('behind a trusted proxy count for each client', () => {
    const { status, senderOf } = accessWith({ trusted: ['127.0.0.1'] });
    const behind = (client: string, more: object) => ({
      url,
      headers: { 'x-forwarded-for': client, ...more },
    });
    for (let n = 0; n < 20; n++) status(behind('203.0.113.7', wrong));
    expect(status(behind('203.0.113.7', right))).toBe(429);
    expect(status(behind('203.0.113.8', right))).toBe(200);
    expect(status({ url, headers: right })).toBe(200);
    expect(senderOf(behind('203.0.113.7', {}))).toMatchObject({
      address: '203.0.113.7',
      throughUnknownProxy: false,
    });
    // A stranger cannot pass for the command line beside the proxy.
    for (let n = 0; n < 20; n++) status(behind('127.0.0.1', wrong));
    expect(status({ url, headers: right })).toBe(200);
  });

  it('hint at an unknown proxy only if a proxy is visible', () => {
    const { senderOf } = accessWith();
    expect(senderOf({}).throughUnknownProxy).toBe(false);
    expect(senderOf({ headers: { origin: 'https://evil.example' } }).throughUnknownProxy).toBe(
      false,
    );
    expect(senderOf({ isHttp10: true }).throughUnknownProxy).toBe(true);
    expect(senderOf({ headers: { 'x-forwarded-for': '203.0.113.7' } })).toMatchObject({
      address: '127.0.0.1',
      throughUnknownProxy: true,
    });
  });
});

describe('a session of a browser', () => {
  const url = '/api/v1/live';

  it('replaces the password, until it has ended or the password changes', () => {
    const { who, cookie, clock, changePassword } = accessWith();
    const headers = { cookie: cookie(), 'sec-fetch-site': 'same-origin' };
    expect(who({ url, headers })).toMatchObject({ how: 'password', user: null });
    expect(who({ url, headers, method: 'POST' })).toMatchObject({ how: 'password' });
    clock.nowMs += 12 * 3_600_000;
    expect(who({ url, headers })).toBe('session-over');
    const fresh = { cookie: cookie() };
    changePassword('another');
    expect(who({ url, headers: fresh })).toBe('session-over');
    expect(who({ url })).toBe('password-missing');
  });

  it.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
  ])('does not count for pages of another site, also to read: %j', (headers) => {
    const { who, cookie } = accessWith();
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect(who({ url, method, headers: { cookie: cookie(), ...headers } })).toBe('other-site');
    }
  });

  it('is begun with the password or a link, of which both may be wrong ten times', () => {
    const { logIn, makeLink } = accessWith();
    expect(logIn({ password: PASSWORD })).toBeUndefined();
    const token = makeLink();
    expect(logIn({ token })).toBeUndefined();
    for (let n = 0; n < 5; n++) {
      expect(logIn({ token })).toMatchObject({ status: 401 });
      expect(logIn({ password: 'wrong' })).toMatchObject({ status: 401, reason: 'password-wrong' });
    }
    expect(logIn({ password: PASSWORD })).toMatchObject({ status: 429 });
  });

  it('lets a stream continue until it ends, however many wrong passwords others try', () => {
    const { isStillIdentified, status, cookie, changePassword } = accessWith();
    const allowed = [{ cookie: cookie() }, bearer(PASSWORD)];
    for (let n = 0; n < 20; n++) status({ url, headers: bearer('wrong') });
    expect(allowed.map((headers) => isStillIdentified({ headers }))).toEqual([true, true]);
    changePassword('another');
    expect(allowed.map((headers) => isStillIdentified({ headers }))).toEqual([false, false]);
  });
});

describe('a proxy that checks users', () => {
  const url = '/api/v1/live';
  const userProxies = ['192.0.2.0/24'];
  const peer = '192.0.2.9';
  const headers = { 'remote-user': ' alice ', 'remote-groups': 'ops, dev,' };

  it('separates groups by one character, which no group can have in its name', () => {
    for (const [groupsSeparator, text, groups] of [
      [',', 'dev, x|ops', ['dev', 'x|ops']],
      ['|', 'dev|x,ops', ['dev', 'x,ops']],
    ] as const) {
      const { who } = accessWith({ userProxies, groupsSeparator });
      const asked = { ...headers, 'remote-groups': text };
      expect(who({ url, peer, headers: asked })).toMatchObject({ groups });
    }
  });

  it('names them and their groups, whatever password it adds', () => {
    const { who } = accessWith({ userProxies });
    const alice = { how: 'proxy', user: 'alice', groups: ['ops', 'dev'] } as const;
    expect(who({ url, peer, headers })).toEqual(alice);
    expect(who({ url, peer, headers: { ...headers, ...basic('alice', '') } })).toEqual(alice);
    expect(who({ url, peer, headers: { 'remote-user': 'bob' } })).toMatchObject({ groups: [] });
    const utf8 = Buffer.from('Zoë').toString('latin1');
    expect(who({ url, peer, headers: { 'remote-user': utf8 } })).toMatchObject({ user: 'Zoë' });
  });

  it('is believed only at its own address', () => {
    const { who, hasUntrustedUser } = accessWith({ userProxies, trusted: ['10.0.0.1'] });
    for (const from of ['198.51.100.1', '127.0.0.1', '10.0.0.1']) {
      const given = { url, peer: from, headers: { ...headers, 'x-forwarded-for': peer } };
      expect([who(given), hasUntrustedUser(given)]).toEqual(['password-missing', true]);
    }
    expect(hasUntrustedUser({ url, peer, headers })).toBe(false);
    expect(accessWith().who({ url, peer, headers })).toBe('password-missing');
  });

  it('names nobody with an empty header', () => {
    const { who } = accessWith({ userProxies });
    for (const name of ['', ' ']) {
      expect(who({ url, peer, headers: { ...headers, 'remote-user': name } })).toBe(
        'password-missing',
      );
    }
  });

  it('does not authorise requests of pages of other sites that it forwards', () => {
    const { who } = accessWith({ userProxies });
    const more = { ...headers, 'sec-fetch-site': 'cross-site' };
    expect(who({ url, peer, headers: more })).toBe('other-site');
  });
});
