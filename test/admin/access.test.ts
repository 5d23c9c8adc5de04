import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { type Fanfare, startFanfare } from '../support/fanfare.ts';
import { admin } from './api-client.ts';

const PASSWORD = 'geheim: ü';
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
});
/** As a client sends it: the bytes of UTF-8. */
const bearer = (password: string) => ({
  authorization: `Bearer ${Buffer.from(password).toString('latin1')}`,
});

const protectedPaths = ['/apps', '/live', '/openapi.json', '//metrics', '/nowhere', '//nowhere'];

describe('an admin listener with a password', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({ config: { admin: { port: 0, password: PASSWORD } } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('tells everyone whether it lives and is ready', async () => {
    for (const path of ['//healthz', '//readyz']) {
      expect((await admin(server, 'GET', path)).status).toBe(200);
    }
  });

  it.each(protectedPaths)('asks for the password at %s', async (path) => {
    const wrong = [
      {},
      bearer('geheim'),
      bearer(`${PASSWORD}x`),
      basic('admin', 'geheim'),
      basic(PASSWORD, ''),
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: `Digest ${PASSWORD.slice(0, 6)}` },
      { authorization: 'Basic %%%' },
      { authorization: 'Basic ' },
    ];
    for (const headers of wrong) {
      const answer = await admin(server, 'GET', path, { headers });
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
        401,
        'Basic realm="Fanfare"',
      ]);
      expect(answer.text).not.toContain('geheim');
    }
  });

  it('takes it as a token, or as the password of any user', async () => {
    for (const headers of [bearer(PASSWORD), basic('', PASSWORD), basic('anybody', PASSWORD)]) {
      expect((await admin(server, 'GET', '/apps', { headers })).status).toBe(200);
      expect((await admin(server, 'GET', '//metrics', { headers })).status).toBe(200);
    }
  });

  it('may then be called by another name, and through a proxy', async () => {
    const headers = {
      ...basic('admin', PASSWORD),
      host: 'admin.example.com',
      'x-forwarded-for': '203.0.113.7',
    };
    expect((await admin(server, 'GET', '/apps', { headers })).status).toBe(200);
  });

  it('never logs it', async () => {
    await server.logged(/Admin request refused/);
    expect(server.output.stderr).not.toContain('geheim');
  });
});

describe('an admin listener without a password, on a loopback address', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('answers whoever calls this machine by its own name', async () => {
    for (const host of ['127.0.0.1', '127.0.0.1:6003', 'LOCALHOST:1', '[::1]:6003', '127.9.9.9']) {
      const { status } = await admin(server, 'GET', '/apps', { headers: { host } });
      expect([host, status]).toEqual([host, 200]);
    }
  });

  it('answers no page that was made to name this machine (DNS rebinding)', async () => {
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'evil.example:6003',
      '127.0.0.1@evil.example',
      '[::1].evil.example',
      '0.0.0.0',
      '10.0.0.1',
    ]) {
      for (const path of ['/apps', '//metrics']) {
        const { status } = await admin(server, 'GET', path, { headers: { host } });
        expect([host, status]).toEqual([host, 403]);
      }
    }
  });

  it('answers nobody behind a proxy', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    expect(await admin(server, 'GET', '/apps', { headers })).toMatchObject({
      status: 403,
      json: { error: expect.stringContaining('admin.password') },
    });
  });

  it('changes nothing for a form of another site (CSRF)', async () => {
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
});

it('without a password, an admin listener that others can reach answers nobody, and says so', async () => {
  await using server = await startFanfare({ config: { admin: { host: '0.0.0.0', port: 0 } } });
  await server.logged(/answer nobody: set admin.password/);
  for (const path of protectedPaths) {
    expect(await admin(server, 'GET', path)).toMatchObject({
      status: 403,
      json: { error: expect.stringContaining('Set admin.password') },
    });
  }
  expect((await admin(server, 'POST', '/apps', { body: {} })).status).toBe(403);
  expect((await admin(server, 'GET', '//healthz')).status).toBe(200);
});
