import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { networkInterfaces } from 'node:os';
import { admin } from '../../testing/clients/admin-api.ts';
import { RawHttp } from '../../testing/clients/raw-http.ts';
import { type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

const PASSWORD = 'geheim: ü';
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
/** The header as a client sends it: the bytes of UTF-8. */
const bearer = (password: string) => ({
  authorization: `Bearer ${Buffer.from(password).toString('latin1')}`,
});

/** The name and the rules of a cookie that a browser is told to keep or to forget. */
function rulesOf(cookie: string): string {
  const [pair = '', ...rules] = cookie.split('; ');
  const rule = (name: string) => rules.find((each) => each.startsWith(name));
  const isForgotten = rules.includes('Max-Age=0') ? 'forgotten' : undefined;
  return [pair.split('=')[0], rule('Path='), rule('Secure'), isForgotten].filter(Boolean).join(' ');
}

const apiPaths = ['/apps?secrets=true', '/live', '/openapi.json', '/nowhere', '//nowhere'];

describe('an admin listener with a configured password', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({
      config: { admin: { port: 0, password: PASSWORD }, dashboard: { enabled: false } },
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('shows everyone whether the server is alive and ready', async () => {
    for (const path of ['//healthz', '//readyz']) {
      expect((await admin(server, 'GET', path)).status).toBe(200);
    }
  });

  it.each([...apiPaths, '//metrics'])('asks for the password at %s', async (path) => {
    const answer = await admin(server, 'GET', path);
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="Fanfare"',
    ]);
  });

  it('reports to a page that nobody is logged in, and nothing else without a log-in', async () => {
    const session = async (query: string, headers = {}) => {
      const { status, json } = await admin(server, 'GET', `/session${query}`, { headers });
      return [status, json];
    };
    expect(await session('?nobody=true')).toEqual([200, null]);
    expect(await session('?nobody=true', { cookie: 'fanfare=over' })).toEqual([200, null]);
    expect((await session('?nobody=true', bearer('wrong')))[0]).toBe(401);
    expect(await session('?nobody=true', bearer(PASSWORD))).toMatchObject([200, { role: 'admin' }]);
    for (const query of ['', '?nobody=false', '?nobody=yes', '?nobody=true&nobody=false']) {
      expect([query, (await session(query))[0]]).toEqual([query, 401]);
    }
    expect((await admin(server, 'GET', '/apps?nobody=true')).status).toBe(401);
  });

  it('accepts it as a token or as the password of any user, under any host name and through a proxy', async () => {
    for (const headers of [bearer(PASSWORD), basic('', PASSWORD), basic('anybody', PASSWORD)]) {
      expect((await admin(server, 'GET', '/apps', { headers })).status).toBe(200);
      expect((await admin(server, 'GET', '//metrics', { headers })).status).toBe(200);
    }
    const proxied = { host: 'admin.example.com', 'x-forwarded-for': '203.0.113.7' };
    const headers = { ...basic('admin', PASSWORD), ...proxied };
    expect((await admin(server, 'GET', '/apps', { headers })).status).toBe(200);
  });

  it('serves no dashboard if none is wanted, but lets browsers log in', async () => {
    for (const path of ['//', '//dashboard', '//dashboard/apps']) {
      expect((await admin(server, 'GET', path)).status).toBe(401);
      expect((await admin(server, 'GET', path, { headers: bearer(PASSWORD) })).status).toBe(404);
    }
    const { status } = await admin(server, 'POST', '/session', { body: { password: PASSWORD } });
    expect(status).toBe(200);
    await server.logged(/"Logged in to the dashboard","by":"password","address":"127.0.0.1"/);
    expect(server.output.stdout).not.toContain('/dashboard');
  });

  it('takes the word of no stranger that a browser came over HTTPS', async () => {
    for (const headers of [{ 'x-forwarded-proto': 'https' }, { forwarded: 'proto=https' }]) {
      const { headers: answered } = await admin(server, 'POST', '/session', {
        headers,
        body: { password: PASSWORD },
      });
      expect(answered.getSetCookie().map(rulesOf)).toEqual(['fanfare Path=/']);
    }
  });

  it('creates no other password, and never logs it', async () => {
    expect(server.adminPassword).toBeUndefined();
    expect(server.output.stdout).not.toContain('its password');
    await admin(server, 'GET', '/apps', { headers: bearer(`${PASSWORD} is wrong`) });
    await server.logged(/"why":"password-wrong"/);
    expect(server.output.stderr).not.toContain('geheim');
  });
});

describe('an admin listener without a configured password', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const anonymous = true;

  it('shows programs on this machine health and metrics, and nothing else', async () => {
    for (const path of ['//healthz', '//readyz', '//metrics']) {
      expect((await admin(server, 'GET', path, { anonymous })).status).toBe(200);
    }
    for (const path of apiPaths) {
      expect([path, (await admin(server, 'GET', path, { anonymous })).status]).toEqual([path, 401]);
    }
    for (const [method, path] of [
      ['POST', '/apps'],
      ['PATCH', '/apps/3'],
      ['DELETE', '/apps/3'],
      ['POST', '/instances'],
      ['POST', '//metrics'],
    ] as const) {
      expect((await admin(server, method, path, { anonymous, body: {} })).status).toBe(401);
    }
    expect((await admin(server, 'GET', '/apps')).json).toMatchObject({ apps: [{ id: '3' }] });
  });

  it('serves the page of the dashboard to everybody, to log in on, under each of its addresses', async () => {
    await using http = await RawHttp.open({ port: server.adminPort });
    const get = (target: string, headers = {}) => http.request({ method: 'GET', target, headers });
    expect((await get('/')).headers.get('location')).toBe('/dashboard');
    const pages = new Set<string>();
    for (const target of ['/dashboard', '/dashboard/', '/dashboard/apps/x%2Fy/live?kinds=api']) {
      const { status, headers, body } = await get(target, { 'sec-fetch-site': 'cross-site' });
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'$/,
      );
      pages.add(body);
    }
    expect(pages.size).toBe(1);
    const zipped = await get('/dashboard', { 'accept-encoding': 'br, gzip;q=0.5' });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    for (const encodings of ['gzip;q=0, *', 'gzipped', 'identity']) {
      const plain = await get('/dashboard', { 'accept-encoding': encodings });
      expect(plain.headers.get('content-encoding')).toBeUndefined();
    }
    expect((await get('/dashboard/assets/nothing.js')).status).toBe(401);
    expect((await get('/dashboard.js')).status).toBe(401);
  });

  it('asks browsers for the password on its page, not in a box of theirs', async () => {
    const { status, headers } = await admin(server, 'GET', '/apps', {
      anonymous,
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    expect([status, headers.get('www-authenticate')]).toEqual([401, null]);
  });

  it('recognises nginx with its default configuration as a proxy', async () => {
    await using http = await RawHttp.open({ port: server.adminPort });
    http.write(
      `GET /metrics HTTP/1.0\r\nHost: 127.0.0.1:${server.adminPort}\r\nConnection: close\r\n\r\n`,
    );
    expect((await http.read()).status).toBe(401);
    await using direct = await RawHttp.open({ port: server.adminPort });
    expect((await direct.request({ method: 'GET', target: '/metrics' })).status).toBe(200);
  });

  it('answers only health checks through a proxy or from a page in a browser', async () => {
    for (const headers of [
      { via: '1.1 proxy' },
      { 'x-forwarded-proto': 'https' },
      { 'cf-connecting-ip': '203.0.113.7' },
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ]) {
      const asks = { headers, anonymous };
      expect((await admin(server, 'GET', '//healthz', asks)).status).toBe(200);
      expect((await admin(server, 'GET', '//metrics', asks)).status).toBe(401);
    }
  });

  it('changes nothing for a page of another site, also with the password (CSRF)', async () => {
    for (const more of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }]) {
      const headers = { ...basic('', server.adminPassword ?? ''), ...more };
      expect(await admin(server, 'POST', '/apps', { body: {}, headers })).toMatchObject({
        status: 403,
        json: { error: 'Pages of other sites may not change anything' },
      });
    }
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''];
    for (const type of types) {
      const headers = { 'content-type': type };
      expect(await admin(server, 'POST', '/apps', { raw: '{}', headers })).toMatchObject({
        status: 415,
        json: { error: 'Content-Type must be application/json' },
      });
      expect((await admin(server, 'DELETE', '/apps/3', { headers })).status).toBe(415);
      expect((await admin(server, 'POST', '/apps/3/disable', { headers })).status).toBe(415);
    }
    const { headers } = await admin(server, 'OPTIONS', '/apps', {
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(headers.get('access-control-allow-origin')).toBeNull();
  });

  it('logs each change, without secrets', async () => {
    const before = server.output.stderr.length;
    const line = async (message: string): Promise<Record<string, unknown>> =>
      JSON.parse(await server.logged(new RegExp(`"message":"${message}"`)));
    const { json } = await admin(server, 'POST', '/apps', { body: { name: 'shop' } });
    const { id, keys } = json as { id: string; keys: { key: string; secret: string }[] };
    const by = { by: 'admin-api', address: '127.0.0.1' };
    expect(await line('App created')).toMatchObject({ app: id, settings: 'name', ...by });
    const webhook = { url: 'https://user:hunter2@hooks.example/', events: ['channel_occupied'] };
    const body = { limits: { connections: 5 }, webhooks: [webhook] };
    await admin(server, 'PATCH', `/apps/${id}`, { body });
    expect(await line('App changed')).toMatchObject({ app: id, settings: 'limits, webhooks' });
    const added = (await admin(server, 'POST', `/apps/${id}/keys`)).json as { key: string };
    expect(await line('Key added')).toMatchObject({ app: id, key: added.key, ...by });
    await admin(server, 'DELETE', `/apps/${id}/keys/${keys[0]?.key}`);
    expect(await line('Key removed')).toMatchObject({ app: id, key: keys[0]?.key, ...by });
    await admin(server, 'DELETE', `/apps/${id}/keys/${added.key}`);
    expect(await line('Change refused')).toMatchObject({
      operation: 'removeKey',
      app: id,
      status: 409,
      ...by,
    });
    await admin(server, 'POST', `/apps/${id}/disable`);
    expect(await line('App disabled')).toMatchObject({ app: id });
    await admin(server, 'DELETE', `/apps/${id}`);
    expect(await line('App deleted')).toMatchObject({ app: id, ...by });

    const made = (await admin(server, 'POST', '/instances', { body: {} })).json as {
      id: string;
      secretKeys: string[];
    };
    expect(await line('Instance created')).toMatchObject({ instance: made.id, ...by });
    await admin(server, 'POST', `/instances/${made.id}/keys`);
    expect(await line('Secret key added')).toMatchObject({ instance: made.id });
    await admin(server, 'DELETE', `/instances/${made.id}/keys/${made.secretKeys[0]}`);
    expect(await line('Secret key removed')).toMatchObject({ instance: made.id });
    await admin(server, 'DELETE', `/instances/${made.id}`);
    expect(await line('Instance deleted')).toMatchObject({ instance: made.id });

    const logged = server.output.stderr.slice(before);
    for (const secret of [keys[0]?.secret, made.secretKeys[0], 'hunter2', server.adminPassword]) {
      expect(logged).not.toContain(secret ?? 'nothing');
    }
  });
});

it('an admin listener that others can reach shows only its health without the password', async () => {
  await using server = await startFanfare({ config: { admin: { host: '0.0.0.0', port: 0 } } });
  const addresses = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const own = addresses.find(({ family, internal }) => family === 'IPv4' && !internal);
  const status = async (host: string, path: string, password?: string) => {
    const headers = password === undefined ? {} : bearer(password);
    const answer = await fetch(`http://${host}:${server.adminPort}${path}`, { headers });
    await answer.arrayBuffer();
    return answer.status;
  };
  // Without a network this machine has no other address; unit tests cover other addresses as well.
  for (const host of own === undefined ? [] : [own.address]) {
    expect(await status(host, '/healthz')).toBe(200);
    expect(await status(host, '/metrics')).toBe(401);
    expect(await status(host, '/api/v1/apps')).toBe(401);
    expect(await status(host, '/api/v1/apps', server.adminPassword)).toBe(200);
    expect(await status(host, '/metrics', server.adminPassword)).toBe(200);
  }
  expect(await status('127.0.0.1', '/metrics')).toBe(200);
  expect(await status('127.0.0.1', '/api/v1/apps')).toBe(401);
});

it('a session over HTTPS has a cookie for HTTPS alone, if a trusted proxy ends TLS', async () => {
  await using server = await startFanfare({
    config: { admin: { port: 0, password: PASSWORD }, trustedProxies: ['127.0.0.1'] },
  });
  const proxied = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https' };
  const send = (method: string, headers: Record<string, string>, body?: object) =>
    admin(server, method, '/session', { headers, ...(body && { body }), anonymous: true });
  const logIn = async (headers: Record<string, string>) => {
    const { status, headers: answered } = await send('POST', headers, { password: PASSWORD });
    expect(status).toBe(200);
    return answered.getSetCookie();
  };
  const [secure = '', ...others] = await logIn(proxied);
  expect([secure, ...others].map(rulesOf)).toEqual([
    '__Host-fanfare Path=/ Secure',
    'fanfare Path=/ forgotten',
  ]);
  const cookie = secure.split(';')[0] ?? '';
  expect((await send('GET', { ...proxied, cookie })).status).toBe(200);

  // A session that began before the proxy said so goes on, and logging out ends it too.
  const [plain = ''] = await logIn({ ...proxied, 'x-forwarded-proto': 'http' });
  expect(rulesOf(plain)).toBe('fanfare Path=/');
  const old = plain.split(';')[0] ?? '';
  expect((await send('GET', { ...proxied, cookie: old })).status).toBe(200);
  const out = await send('DELETE', { ...proxied, cookie: `${cookie}; ${old}` });
  expect(out.headers.getSetCookie().map(rulesOf)).toEqual([
    '__Host-fanfare Path=/ Secure forgotten',
    'fanfare Path=/ forgotten',
  ]);

  // The browser knows best: over HTTP it would take no cookie for HTTPS.
  const origin = `http://127.0.0.1:${server.adminPort}`;
  expect((await logIn({ ...proxied, origin })).map(rulesOf)).toEqual(['fanfare Path=/']);
});

describe('wrong passwords', () => {
  it('lock out their address after 10, even with the right password, and are counted and logged', async () => {
    await using server = await startFanfare();
    const statuses: number[] = [];
    for (let n = 0; n < 15; n++) {
      statuses.push((await admin(server, 'GET', '/live', { headers: bearer('x') })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(5).fill(429)]);
    const refused = await admin(server, 'GET', '/live');
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, 6]);
    // Health and metrics need no password here.
    const { text } = await admin(server, 'GET', '//metrics', { anonymous: true });
    const count = (why: string) =>
      Number(
        new RegExp(`^fanfare_admin_requests_refused_total\\{why="${why}"\\} (\\d+)$`, 'm').exec(
          text,
        )?.[1],
      );
    expect([count('password-wrong'), count('too-many-wrong-passwords')]).toEqual([10, 6]);
    const lines = server.output.stderr.split('\n').filter((line) => line.includes('"why":"'));
    expect(lines.filter((line) => line.includes('password'))).toHaveLength(2);
  });

  it('through an unknown proxy do not lock out the command line, and the log names the setting', async () => {
    await using server = await startFanfare();
    const headers = { ...bearer('x'), 'x-forwarded-for': '203.0.113.7' };
    for (let n = 0; n < 12; n++) await admin(server, 'GET', '/live', { headers });
    expect((await admin(server, 'GET', '/live', { headers })).status).toBe(429);
    expect((await admin(server, 'GET', '/live')).status).toBe(200);
    expect(await server.logged(/too-many-wrong-passwords/)).toContain('trustedProxies');
  });

  it('through a trusted proxy count for the client behind it', async () => {
    await using server = await startFanfare({ config: { trustedProxies: ['127.0.0.1'] } });
    const from = (client: string, password = server.adminPassword ?? '') =>
      admin(server, 'GET', '/live', {
        headers: { ...bearer(password), 'x-forwarded-for': client },
      });
    for (let n = 0; n < 12; n++) await from('203.0.113.7', 'wrong');
    expect((await from('203.0.113.7')).status).toBe(429);
    expect((await from('203.0.113.8')).status).toBe(200);
    expect(await server.logged(/too-many-wrong-passwords/)).toContain('"address":"203.0.113.7"');
  });
});
