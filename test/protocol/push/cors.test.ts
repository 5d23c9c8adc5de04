import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import {
  type Answered,
  ask,
  BACKEND,
  BACKEND_JSON,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  open,
  publishes,
  registered,
  registration,
  seen,
  startPush,
  TO_INTERESTS,
  UNKNOWN,
  user,
} from './exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const PAGE = { origin: 'https://shop.example.org' };

const preflight = (target: string, method: string, headers = 'content-type,authorization') =>
  ask(server, 'OPTIONS', target, {
    headers: {
      ...PAGE,
      'access-control-request-method': method,
      'access-control-request-headers': headers,
    },
  });

const list = (answer: Answered, name: string) =>
  (answer.headers.get(name) ?? '').toLowerCase().split(/\s*,\s*/);

/** Push protocol, §1.8. */
describe('a page of any site may call', () => {
  const id = `web-${UNKNOWN}`;
  it.each([
    ['GET', `/device_api/v1/instances/${INSTANCE.id}/web-vapid-public-key`],
    ['POST', device('web')],
    ['GET', device(`web/${id}`)],
    ['DELETE', device(`web/${id}`)],
    ['PUT', device(`web/${id}/metadata`)],
    ['PUT', device(`web/${id}/user`)],
    ['GET', device(`web/${id}/interests?limit=100`)],
    ['PUT', device(`web/${id}/interests`)],
    ['POST', device(`web/${id}/interests/shop%40x`)],
    ['DELETE', device(`web/${id}/interests/shop`)],
    ['POST', events()],
    ['GET', '/sdk/service-worker.js'],
    // Wrong paths: the page must be able to read the refusal.
    ['GET', '/device_api/v1/nothing'],
    ['POST', '/reporting_api/v2/instances//events'],
    ['PUT', device(`fcm/${id}/token`)],
  ])('%s %s', async (method, target) => {
    const answer = await preflight(target, method);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(list(answer, 'access-control-allow-methods')).toEqual(
      expect.arrayContaining(['get', 'post', 'put', 'delete']),
    );
    expect(list(answer, 'access-control-allow-headers')).toEqual(
      expect.arrayContaining(['content-type', 'authorization', 'x-pusher-library']),
    );
    expect(Number(answer.headers.get('access-control-max-age'))).toBeGreaterThanOrEqual(7200);
    // With credentials, * would not be valid.
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  it('without a preflight request', async () => {
    expect((await ask(server, 'OPTIONS', device('web'))).status).toBe(204);
  });

  it('and send another request on the same connection', async () => {
    await using connection = await open(server);
    for (const _ of [1, 2]) {
      connection.sendRequest({ method: 'OPTIONS', target: device('web'), headers: PAGE });
      expect((await connection.read('OPTIONS')).status).toBe(204);
      connection.sendRequest({ method: 'GET', target: '/sdk/service-worker.js' });
      expect((await connection.read()).status).toBe(200);
    }
  });
});

describe('a page may read', () => {
  const readable = (answer: Answered, status: number) =>
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
      status,
      '*',
    ]);

  it('answers with and without a body', async () => {
    const id = await registered(server, 'web');
    const headers = PAGE;
    readable(await ask(server, 'POST', device('web'), { headers, body: registration('web') }), 200);
    readable(await ask(server, 'GET', device(`web/${id}`), { headers }), 200);
    readable(await ask(server, 'HEAD', device(`web/${id}`), { headers }), 200);
    readable(await ask(server, 'POST', device(`web/${id}/interests/a`), { headers }), 200);
    readable(await ask(server, 'DELETE', device(`web/${id}`), { headers }), 200);
    readable(await ask(server, 'GET', '/sdk/service-worker.js', { headers }), 200);
  });

  it('every refusal', async () => {
    const headers = PAGE;
    const id = `web-${UNKNOWN}`;
    readable(await ask(server, 'POST', device('web'), { headers, body: '{' }), 400);
    readable(await ask(server, 'PUT', device(`web/${id}/user`), { headers }), 401);
    readable(await ask(server, 'GET', device(`web/${id}`), { headers }), 404);
    readable(await ask(server, 'GET', device('web/x', UNKNOWN), { headers }), 404);
    readable(await ask(server, 'GET', '/device_api/v1/x', { headers }), 404);
    readable(await ask(server, 'PATCH', device(`web/${id}`), { headers }), 405);
    readable(await ask(server, 'POST', events(), { headers, body: '{}' }), 400);
    readable(await ask(server, 'POST', device('web'), { headers, body: 'x'.repeat(20_000) }), 400);
  });

  it('the refusal of a request that is not valid HTTP', async () => {
    for (const bytes of ['a b: c\r\n\r\n', `x: ${'x'.repeat(20_000)}\r\n\r\n`]) {
      await using connection = await open(server);
      connection.write(`POST ${device('web')} HTTP/1.1\r\nHost: x\r\n${bytes}`);
      readable(seen(await connection.read()), bytes.length > 1000 ? 431 : 400);
    }
  });

  it('the Retry-After header', async () => {
    const answer = await ask(server, 'GET', '/sdk/service-worker.js', { headers: PAGE });
    expect(list(answer, 'access-control-expose-headers')).toContain('retry-after');
  });
});

/** These need a secret key, which must not be in a browser. */
describe('no page may call', () => {
  it.each([
    ['POST', publishes('/interests')],
    ['POST', publishes('/users')],
    ['GET', publishes(`/pubid-${UNKNOWN}`)],
    ['DELETE', user('ann')],
    ['DELETE', `/user_api/v1/instances/${INSTANCE.id}/users/ann`],
  ])('%s %s', async (method, target) => {
    const asked = await preflight(target, method);
    expect(asked.status).toBeOneOf([404, 405]);
    const answer = await ask(server, method, target, { headers: { ...PAGE, ...BACKEND } });
    for (const { headers } of [asked, answer]) {
      const cors = [...headers.keys()].filter((name) => name.startsWith('access-control-'));
      expect(cors).toEqual([]);
    }
  });

  it('or read the answer to a publish', async () => {
    const headers = { ...BACKEND_JSON, ...PAGE };
    const answer = await ask(server, 'POST', publishes('/interests'), {
      headers,
      body: TO_INTERESTS,
    });
    expect([answer.status, answer.headers.has('access-control-allow-origin')]).toEqual([
      200,
      false,
    ]);
    const refused = await ask(server, 'POST', publishes('/interests'), { headers: JSON_HEADERS });
    expect(refused.headers.has('access-control-allow-origin')).toBe(false);
  });
});
