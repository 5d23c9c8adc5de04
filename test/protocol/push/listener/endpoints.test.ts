import { describe, expect, it } from 'bun:test';
import { PushRefusal } from '../../../../src/push/refusal.ts';
import { ListenerHealth } from '../../../../src/transports/health.ts';
import type { PushAnswer } from '../../../../src/transports/push-api/call.ts';
import { RawHttp } from '../../../../testing/clients/raw-http.ts';
import { openListener } from './open-listener.ts';
import {
  DEVICE,
  ID,
  INTERESTS,
  JSON_HEADERS,
  publish,
  refused,
  USERS,
} from './requests-and-refusals.ts';

describe('routing', () => {
  it('passes the content of a request to its endpoint', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const target = `/device_api/v1/instances/${ID}/devices/web/web-1/interests?limit=5&cursor=a%20b`;
    const answer = await connection.request({ method: 'GET', target, headers: JSON_HEADERS });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(answer.body)).toEqual({
      method: 'GET',
      path: target.split('?')[0],
      params: { instance: ID, platform: 'web', device: 'web-1', name: '', publishId: '', rest: '' },
      query: [
        ['limit', '5'],
        ['cursor', 'a b'],
      ],
      bytes: 0,
    });
    expect([...server.counted]).toEqual([['200', 1]]);
  });

  it('understands the target of a request to a proxy, and HTTP/1.0', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const answer = await connection.request({ method: 'GET', target: `http://x.org${DEVICE}?a` });
    expect(JSON.parse(answer.body)).toMatchObject({ path: DEVICE, query: [['a', '']] });
    connection.write(`GET ${DEVICE} HTTP/1.0\r\n\r\n`);
    expect((await connection.read()).status).toBe(200);
    await connection.untilEnd();
  });

  it('refuses unknown paths, wrong methods and paths without an instance', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const ask = (method: string, target: string) => connection.request({ method, target });
    expect(refused(await ask('GET', '/'))).toEqual([404, 'Not found', 'There is no such path']);
    expect(refused(await ask('POST', `${INTERESTS}/`))[0]).toBe(404);
    const wrong = await ask('GET', INTERESTS);
    expect(refused(wrong)).toEqual([405, 'Method not allowed', 'This path takes POST']);
    expect(wrong.headers.get('allow')).toBe('POST');
    for (const target of ['instances//publishes/interests', 'publishes/interests', 'instances/']) {
      expect(refused(await ask('POST', `/publish_api/v1/${target}`))).toEqual([
        400,
        'Incomplete Request',
        'The instance-id is missing from the path',
      ]);
    }
    expect([...server.counted]).toEqual([
      ['404', 2],
      ['405', 1],
      ['400', 3],
    ]);
  });

  it('answers HEAD as GET, without the body', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const get = await connection.request({ method: 'GET', target: DEVICE });
    const head = await connection.request({ method: 'HEAD', target: DEVICE });
    expect(head.status).toBe(200);
    expect(Number(head.headers.get('content-length'))).toBe(get.body.length + 1);
    const none = await connection.request({ method: 'HEAD', target: '/nowhere' });
    expect(none.status).toBe(404);
    expect((await connection.request({ method: 'GET', target: DEVICE })).status).toBe(200);
  });

  it('ignores a request to upgrade', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    };
    const ask = (target: string, headers: Record<string, string>) =>
      connection.request({ method: 'GET', target, headers });
    expect(refused(await ask('/app/x', upgrade))[0]).toBe(404);
    expect((await ask(DEVICE, { connection: 'Upgrade', upgrade: 'h2c' })).status).toBe(200);
  });

  it('lets pages of other sites call the device API, and no other', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const ask = (method: string, target: string) =>
      connection.request({ method, target, headers: { origin: 'https://x.org' } });
    for (const target of [DEVICE, '/device_api/v1/nowhere', '/reporting_api/v2/x', '/sdk/x']) {
      const preflight = await ask('OPTIONS', target);
      expect([preflight.status, preflight.body]).toEqual([204, '']);
      expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
      expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, POST, PUT, DELETE');
      expect(preflight.headers.get('access-control-max-age')).toBe('86400');
    }
    for (const [method, target, status] of [
      ['GET', DEVICE, 200],
      ['PATCH', DEVICE, 405],
      ['GET', '/device_api/v1/nowhere', 404],
      ['POST', '/reporting_api/v2/instances//events', 400],
    ] as const) {
      const answer = await ask(method, target);
      expect(answer.status).toBe(status);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-expose-headers')).toBe('retry-after');
    }
    // A page must be able to read that its path is wrong.
    for (const target of ['/', '/nothing', '//wrong//device_api/v1']) {
      expect((await ask('OPTIONS', target)).status).toBe(204);
      const unknown = await ask('GET', target);
      expect([unknown.status, unknown.headers.get('access-control-allow-origin')]).toEqual([
        404,
        '*',
      ]);
    }
    for (const [target, status] of [
      [INTERESTS, 405],
      ['/customer_api/v1/nowhere', 404],
    ] as const) {
      const answer = await ask('OPTIONS', target);
      expect(refused(answer)[0]).toBe(status);
      expect([...answer.headers.keys()].join()).not.toContain('access-control');
    }
  });
});

describe('an endpoint', () => {
  it('answers with a JSON text, another text, nothing, or a refusal', async () => {
    await using server = await openListener({
      endpoints: {
        publishToInterests: { answer: () => ({ json: '{"a":"ü"}' }) },
        publishToUsers: { answer: async () => new PushRefusal('rate-limited', 'Too many', 0.4) },
        readServiceWorker: {
          answer: () => ({ text: 'ü', contentType: 'text/javascript', headers: { etag: '"1"' } }),
        },
        deleteUser: { answer: async () => ({ empty: true }) },
      },
    });
    await using connection = await RawHttp.open(server);
    const json = await connection.request({ method: 'POST', target: INTERESTS, body: '{}' });
    expect([json.status, json.body]).toEqual([200, '{"a":"ü"}\n']);
    const limited = await connection.request({ method: 'POST', target: USERS, body: '{}' });
    expect(refused(limited)).toEqual([429, 'Rate Limited', 'Too many']);
    expect(limited.headers.get('retry-after')).toBe('1');
    const text = await connection.request({ method: 'GET', target: '/sdk/service-worker.js' });
    expect([text.body, text.headers.get('content-type'), text.headers.get('etag')]).toEqual([
      'ü',
      'text/javascript',
      '"1"',
    ]);
    const target = `/user_api/v1/instances/${ID}/users/ann`;
    const empty = await connection.request({ method: 'DELETE', target, headers: JSON_HEADERS });
    expect([empty.status, empty.body, empty.headers.get('content-length')]).toEqual([200, '', '0']);
  });

  it.each([
    ['before the body', { checkHead: () => fail(), answer: () => ({ json: '' }) }],
    ['at once', { answer: () => fail() }],
    ['later', { answer: async () => fail() }],
    ['with a header that is none', { answer: () => ({ text: '', contentType: 'a\nb' }) }],
  ])('that fails %s is answered with 500, and logged', async (_, endpoint) => {
    await using server = await openListener({ endpoints: { readDevice: endpoint } });
    await using connection = await RawHttp.open(server);
    const answer = await connection.request({ method: 'GET', target: DEVICE });
    expect(refused(answer)).toEqual([500, 'Something went wrong', 'Internal server error']);
    expect((await connection.request(publish(5))).status).toBe(200);
    const [line] = server.lines;
    expect(line).toMatchObject({
      level: 'error',
      message: 'Push request failed: internal error',
    });
    expect(line?.['error']).toContain('    at ');
    expect(JSON.stringify(server.lines)).not.toContain('web-1');
  });

  it('that cannot reach its store is logged as a warning', async () => {
    await using server = await openListener({
      endpoints: { readDevice: { answer: async () => new PushRefusal('store', 'It is away', 5) } },
    });
    await using connection = await RawHttp.open(server);
    const answer = await connection.request({ method: 'GET', target: DEVICE });
    expect(refused(answer)).toEqual([503, 'Service Unavailable', 'It is away']);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(server.lines).toMatchObject([{ level: 'warn', status: 503 }]);
  });

  it('is not called before it exists', async () => {
    await using server = await openListener({ starting: true });
    await using connection = await RawHttp.open(server);
    const answer = await connection.request(publish(5));
    expect(refused(answer)).toEqual([503, 'Service Unavailable', 'The server is starting']);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(refused(await connection.request({ method: 'GET', target: '/' }))[0]).toBe(404);
  });

  it('finishes its work even if the client has gone', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    const asked = Promise.withResolvers<void>();
    await using server = await openListener({
      bounds: { requests: 1 },
      endpoints: {
        readDevice: {
          answer() {
            asked.resolve();
            return gate.promise;
          },
        },
      },
    });
    {
      await using connection = await RawHttp.open(server);
      connection.sendRequest({ method: 'GET', target: DEVICE });
      await asked.promise;
    }
    gate.resolve({ json: '{}' });
    await using connection = await RawHttp.open(server);
    const statuses = async () => (await connection.request(publish(5))).status;
    while ((await statuses()) !== 200);
  });
});

function fail(): never {
  throw new Error('A bug');
}

describe('the log', () => {
  it('has a line for each refusal, without the ids that are secrets', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    await connection.request({
      method: 'PATCH',
      target: `${DEVICE}?secret=1`,
      headers: { authorization: 'Bearer s3' },
    });
    expect(server.lines).toEqual([
      {
        level: 'info',
        message: 'Push request refused',
        address: '127.0.0.1',
        method: 'PATCH',
        path: `/device_api/v1/instances/${ID}/devices/web/…`,
        status: 405,
        why: 'This path takes GET, HEAD, DELETE',
      },
    ]);
  });

  it('ignores slashes before the path, as a base address may end with one', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    for (const slashes of ['/', '//']) {
      const answer = await connection.request({ method: 'GET', target: slashes + DEVICE });
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.body)).toMatchObject({ path: DEVICE });
    }
    expect(
      (await connection.request({ method: 'GET', target: DEVICE.replace('/v1', '//v1') })).status,
    ).toBe(404);
  });

  it('may be mounted under a prefix, which a proxy removes or not', async () => {
    await using server = await openListener({ pathPrefix: '/beams' });
    await using connection = await RawHttp.open(server);
    for (const before of ['/beams', '', '//beams/', '/beams/']) {
      const answer = await connection.request({ method: 'GET', target: before + DEVICE });
      expect([before, answer.status]).toEqual([before, 200]);
      expect(JSON.parse(answer.body)).toMatchObject({ path: DEVICE });
    }
    for (const wrong of ['/beams2', '/beams/beams']) {
      expect((await connection.request({ method: 'GET', target: wrong + DEVICE })).status).toBe(
        404,
      );
    }
  });
});

it('answers health checks while it starts, and whatever the rate of their address', async () => {
  const health = new ListenerHealth();
  await using server = await openListener({ starting: true, health, bounds: { requests: 0 } });
  server.listener.limitRate = () => new PushRefusal('rate-limited', 'Too many requests');
  await using connection = await RawHttp.open(server);
  const ask = async (target: string) => {
    const { status, body } = await connection.request({ method: 'GET', target });
    return [status, body];
  };

  expect(await ask('/healthz')).toEqual([200, 'ok\n']);
  expect(await ask('/readyz')).toEqual([503, 'not ready\n']);
  health.setReady(true);
  expect(await ask('/readyz')).toEqual([200, 'ready\n']);
  health.stop();
  health.setReady(true);
  expect(await ask('/readyz')).toEqual([503, 'not ready\n']);
});
