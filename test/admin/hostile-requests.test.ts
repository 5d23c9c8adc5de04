import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { admin, makeApp } from '../../testing/clients/admin-api.ts';
import { testSeed } from '../../testing/long-run.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

fc.configureGlobal({ seed: testSeed() });

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the admin API refuses with a reason', () => {
  it.each<[object, string, string]>([
    [{ nam: 'x' }, 'nam', 'unknown setting'],
    [{ limits: { connections: -1 } }, 'limits.connections', 'must be between 0 and'],
    [{ limits: { connections: '1' } }, 'limits.connections', 'must be a number'],
    [{ limits: { connection: 1 } }, 'limits.connection', 'unknown setting'],
    [{ limits: null }, 'limits', 'must be an object, got null'],
    [{ enabled: 'yes' }, 'enabled', 'must be true or false'],
    [{ webhooks: {} }, 'webhooks', 'must be a list'],
    [{ webhooks: [{ url: 'ftp://x', events: ['client_event'] }] }, 'webhooks[0].url', 'http'],
    [{ webhooks: [{ url: 'http://x', events: [] }] }, 'webhooks[0].events', 'at least one'],
    [{ webhooks: [{ url: 'http://x', events: ['x'] }] }, 'webhooks[0].events[0]', 'must be one of'],
  ])('the settings %j', async (body, field, rule) => {
    const app = await makeApp(server);
    for (const [method, path] of [
      ['POST', '/apps'],
      ['PATCH', `/apps/${app.id}`],
    ] as const) {
      expect(await admin(server, method, path, { body })).toMatchObject({
        status: 400,
        json: { error: expect.stringContaining(rule), field },
      });
    }
  });

  it.each<[object, string]>([
    [{ id: '' }, 'id'],
    [{ id: '../x' }, 'id'],
    [{ id: 'x'.repeat(101) }, 'id'],
    [{ keys: [] }, 'keys'],
    [{ keys: [{ key: 'a' }] }, 'keys[0].secret'],
    [{ keys: [{ key: '', secret: 'b' }] }, 'keys[0].key'],
    [
      {
        keys: [
          { key: 'twice', secret: 'b' },
          { key: 'twice', secret: 'c' },
        ],
      },
      'keys',
    ],
  ])('a new app %j', async (body, field) => {
    expect(await admin(server, 'POST', '/apps', { body })).toMatchObject({
      status: 400,
      json: { field },
    });
  });

  it('a change of a setting that cannot be changed', async () => {
    const app = await makeApp(server);
    for (const name of ['id', 'keys', 'source']) {
      const body = { [name]: 'x' };
      expect(await admin(server, 'PATCH', `/apps/${app.id}`, { body })).toMatchObject({
        status: 400,
        json: { field: name, error: `${name}: unknown setting` },
      });
    }
  });

  it('a query', async () => {
    for (const [path, field] of [
      ['/webhooks?limit=0', 'limit'],
      ['/webhooks?limit=1001', 'limit'],
      ['/webhooks?limit=1e2', 'limit'],
      ['/webhooks?limit=', 'limit'],
      ['/webhooks?state=lost', 'state'],
      ['/webhooks?stat=failed', 'stat'],
      ['/webhooks?__proto__=1', '__proto__'],
      [`/apps/${APP.id}/usage?days=-1`, 'days'],
      [`/apps/${APP.id}/channels?limit=99999999999`, 'limit'],
      ['/apps?secrets=1', 'secrets'],
      ['/live?x=1', 'x'],
      [`/webhooks?${'limit=1&'.repeat(99)}limit=x`, 'limit'],
    ] as const) {
      expect(await admin(server, 'GET', path)).toMatchObject({ status: 400, json: { field } });
    }
  });

  it('a query with more parameters than any operation accepts', async () => {
    for (const query of ['a&'.repeat(129), 'limit=1&'.repeat(129), '&=&'.repeat(129)]) {
      expect(await admin(server, 'GET', `/webhooks?${query}`)).toMatchObject({
        status: 400,
        json: { error: 'The query has more than 128 parameters' },
      });
    }
  });

  it('a query or a path with characters that no database stores', async () => {
    for (const query of ['app=%00', 'before=%00', 'instance=%ed%a0%80', 'app=%ff', 'before=%']) {
      expect(await admin(server, 'GET', `/webhooks?${query}`)).toMatchObject({ status: 200 });
    }
    for (const path of ['/apps/%00', '/webhooks/a%00', '/instances/%00', '/apps/3%00/usage']) {
      expect((await admin(server, 'GET', path)).status).toBe(404);
    }
  });

  it('a body that is not an object', async () => {
    for (const raw of ['[]', 'null', '"x"', '1', 'true', '']) {
      const answer = await admin(server, 'POST', '/apps', { raw });
      expect([raw, answer.status]).toEqual([raw, 400]);
      expect(answer.json).toEqual({ error: expect.stringMatching(/^the body: /) });
    }
  });

  it('a body that is not JSON or not text, without repeating it', async () => {
    for (const raw of ['{"secret":', "{'a':1}", '{}{}', '{"a":1,}', '['.repeat(60_000)]) {
      const answer = await admin(server, 'POST', '/apps', { raw });
      expect([answer.status, answer.json]).toEqual([400, { error: 'The body is not valid JSON' }]);
    }
    const invalid = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expect((await admin(server, 'POST', '/apps', { raw: invalid })).json).toEqual({
      error: 'The body is not valid UTF-8',
    });
  });

  it('an unexpected body', async () => {
    const app = await makeApp(server);
    const body = { enabled: true };
    expect(await admin(server, 'POST', `/apps/${app.id}/disable`, { body })).toMatchObject({
      status: 400,
      json: { field: 'enabled' },
    });
  });

  it('a body that is too long, with a length and in chunks', async () => {
    const name = 'x'.repeat(65_536);
    const raw = JSON.stringify({ name });
    expect(await admin(server, 'POST', '/apps', { raw })).toMatchObject({ status: 413 });
    const chunked = await fetch(`http://127.0.0.1:${server.adminPort}/api/v1/apps`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${server.adminPassword}`,
      },
      body: new Response(raw).body,
    });
    expect(chunked.status).toBe(413);
    const least = await admin(server, 'POST', '/apps', { body: { name: 'x'.repeat(65_000) } });
    expect(least.status).toBe(201);
  });

  it('an unknown path, and the methods of a known one', async () => {
    for (const path of ['/', '', '/apps/', '/apps//keys', '/apps/%ff', '//api/v2/apps']) {
      expect((await admin(server, 'GET', path)).status).toBe(404);
    }
    const refused = await admin(server, 'PUT', '/apps');
    expect(refused).toMatchObject({
      status: 405,
      json: { error: 'This path only supports GET, HEAD, POST' },
    });
    expect(refused.headers.get('allow')).toBe('GET, HEAD, POST');
    expect((await admin(server, 'POST', '//healthz')).headers.get('allow')).toBe('GET, HEAD');
  });
});

it('the admin API answers any request without a server error', async () => {
  const app = await makeApp(server);
  const methods = fc.constantFrom('POST', 'PATCH', 'DELETE');
  const paths = fc.constantFrom('/apps', `/apps/${app.id}`, `/apps/${app.id}/keys`, '/webhooks');
  const bodies = fc.oneof(
    fc.json(),
    fc.string(),
    fc.record({ limits: fc.jsonValue(), webhooks: fc.jsonValue(), name: fc.jsonValue() }),
  );
  await fc.assert(
    fc.asyncProperty(methods, paths, bodies, async (method, path, body) => {
      const raw = typeof body === 'string' ? body : JSON.stringify(body);
      // Requests that would really create or delete apps are left out.
      if (method === 'DELETE' && path === `/apps/${app.id}`) return;
      const { status } = await admin(server, method, path, { raw });
      expect(status).toBeLessThan(500);
    }),
    { numRuns: 150 },
  );
  expect(server.output.stderr).not.toContain('An admin request failed');
});
