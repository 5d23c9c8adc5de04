import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { METHODS } from 'node:http';
import { changeStore } from '../../../testing/databases/change-store.ts';
import type { Fanfare } from '../../../testing/servers/fanfare.ts';
import {
  type Answered,
  ask,
  BACKEND,
  BACKEND_JSON,
  beamsToken,
  device,
  events,
  INSTANCE,
  JSON_HEADERS,
  NO_PATH,
  nowSeconds,
  open,
  publishes,
  refusal,
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
  server = await startPush({ push: { healthChecks: false } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends these bytes on a connection of their own; returns the answer, which must be the last one. */
async function lastAnswerTo(bytes: string | Uint8Array): Promise<Answered> {
  await using connection = await open(server);
  connection.write(bytes);
  const answer = seen(await connection.read());
  expect(answer.headers.get('connection')).toBe('close');
  // The server waits a while if the client may still be sending.
  if (answer.status !== 431) await connection.untilEnd();
  return answer;
}

const ID = INSTANCE.id;

describe('a path that does not exist is answered with 404', () => {
  it.each([
    '/',
    '//',
    '/publish_api',
    '/publish_api/',
    '/publish_api/v1',
    `/publish_api/v2/instances/${ID}/publishes/interests`,
    `/publish_api/v1/instances/${ID}`,
    `/publish_api/v1/instances/${ID}/`,
    `/publish_api/v1/instances/${ID}/publishes/`,
    `/publish_api/v1/instances/${ID}/publishes/interests/`,
    `/publish_api/v1/instances/${ID}/publishes/interests/x`,
    `/publish_api/v1/instances/${ID}/publishes//interests`,
    `/publish_api/v1/instances/${ID}/Publishes/interests`,
    `/publish_api/v1/instances/${ID}/publishes%2Finterests`,
    `/publish_api/v1/instances/${ID}/../${ID}/publishes/interests`,
    `/publish_api/v1/./instances/${ID}/publishes/interests`,
    `/publish_api/v1//instances/${ID}/publishes/interests`,
    `/x/publish_api/v1/instances/${ID}/publishes/interests`,
    `/x/../publish_api/v1/instances/${ID}/publishes/interests`,
    `/%70ublish_api/v1/instances/${ID}/publishes/interests`,
    `/Publish_API/v1/instances/${ID}/publishes/interests`,
    `/customer_api/v1/instances/${ID}/users`,
    `/customer_api/v2/instances/${ID}/users/ann`,
    `/user_api/v1/instances/${ID}/user/ann`,
    `/device_api/v1/instances/${ID}/devices`,
    `/device_api/v1/instances/${ID}/devices/`,
    `/device_api/v1/instances/${ID}/devices/web/`,
    `/device_api/v1/instances/${ID}/devices/WEB`,
    `/device_api/v1/instances/${ID}/devices/safari`,
    `/device_api/v1/instances/${ID}/devices/huawei/x`,
    `/device_api/v1/instances/${ID}/devices/web/x/`,
    `/device_api/v1/instances/${ID}/devices/web/x/nothing`,
    `/device_api/v1/instances/${ID}/devices/web/x/interests/`,
    `/device_api/v1/instances/${ID}/devices/web/x/interests/a/b`,
    `/device_api/v2/instances/${ID}/devices/web`,
    `/reporting_api/v1/instances/${ID}/events`,
    `/reporting_api/v2/instances/${ID}/events/`,
    `/reporting_api/v2/instances/${ID}`,
    '/sdk',
    '/healthz',
    '/readyz',
    '/metrics',
    '/app/278d425bdf160c739803',
    '/apps/3/events',
    '/favicon.ico',
    '/robots.txt',
    '/__proto__',
    '/constructor/v1/instances/x/publishes',
    '/%00',
    '/%',
    '/%zz/%',
    '/..%2f..%2fetc%2fpasswd',
  ])('%s', async (target) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      expect(await ask(server, method, target, { headers: BACKEND_JSON })).toMatchObject(NO_PATH);
    }
  });

  it('of any length', async () => {
    for (const target of [`/${'x'.repeat(10_000)}`, `/${'x/'.repeat(5000)}`]) {
      expect(await ask(server, 'GET', target)).toMatchObject(NO_PATH);
    }
  });

  it('to HEAD without a body', async () => {
    const answer = await ask(server, 'HEAD', '/nothing');
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([
      404,
      '',
      'application/json',
    ]);
  });
});

describe('a method that a path does not accept is answered with 405', () => {
  const id = `web-${UNKNOWN}`;
  it.each([
    [publishes('/interests'), ['POST']],
    [publishes('/users'), ['POST']],
    [publishes(), ['POST']],
    [publishes(`/pubid-${UNKNOWN}`), ['GET', 'HEAD', 'DELETE']],
    [user('ann'), ['DELETE']],
    [`/user_api/v1/instances/${ID}/users/ann`, ['DELETE']],
    [`/device_api/v1/instances/${ID}/web-vapid-public-key`, ['GET', 'HEAD']],
    [device('web'), ['POST']],
    [device(`web/${id}`), ['GET', 'HEAD', 'DELETE']],
    [device(`web/${id}/metadata`), ['PUT']],
    [device(`fcm/fcm-${UNKNOWN}/token`), ['PUT']],
    [device(`web/${id}/user`), ['PUT']],
    [device(`web/${id}/interests`), ['GET', 'HEAD', 'PUT']],
    [device(`web/${id}/interests/a`), ['POST', 'DELETE']],
    [events(), ['POST']],
    ['/sdk/service-worker.js', ['GET', 'HEAD']],
  ])('%s accepts %j', async (target, taken) => {
    // CONNECT names no path, and browsers ask with OPTIONS.
    const others = METHODS.filter((method) => !['CONNECT', 'OPTIONS', ...taken].includes(method));
    await using connection = await open(server);
    for (const method of others) {
      connection.sendRequest({ method, target, headers: BACKEND_JSON });
      const answer = seen(await connection.read(method), method);
      expect([method, answer.status]).toEqual([method, 405]);
      expect(answer.headers.get('allow')).toBe(taken.join(', '));
      if (method !== 'HEAD') expect(answer).toMatchObject(refusal(405, 'Method not allowed'));
    }
  });

  it('with and without a secret key', async () => {
    expect((await ask(server, 'GET', publishes('/interests'))).status).toBe(405);
    expect((await ask(server, 'GET', publishes('/interests', UNKNOWN))).status).toBe(405);
    expect((await ask(server, 'OPTIONS', publishes('/interests'))).status).toBe(405);
  });
});

describe('invalid HTTP is answered like any other request, and the connection ends:', () => {
  const start = `POST ${publishes('/interests')} HTTP/1.1\r\nHost: x\r\n`;
  it.each([
    ['garbage', 'x\0\x01\r\n\r\n', 400, 'Bad request'],
    ['TLS', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', 400, 'Bad request'],
    ['a method in small letters', 'get / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'Bad request'],
    ['no version', 'GET /x\r\n\r\n', 400, 'Bad request'],
    ['HTTP/3', 'GET / HTTP/3.0\r\nHost: x\r\n\r\n', 400, 'Bad request'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'Bad request'],
    ['a blank in the path', 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'Bad request'],
    ['a raw é in the path', 'GET /é HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'Bad request'],
    ['a NUL in the path', 'GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'Bad request'],
    ['no host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'Bad request'],
    ['a header without a colon', `${start}abc\r\n\r\n`, 400, 'Bad request'],
    ['a header with a blank', `${start}a b: c\r\n\r\n`, 400, 'Bad request'],
    ['a header with a NUL', `${start}a: \0\r\n\r\n`, 400, 'Bad request'],
    ['a folded header', `${start}a: b\r\n c: d\r\nContent-Length: x\r\n\r\n`, 400, 'Bad request'],
    ['a negative length', `${start}Content-Length: -1\r\n\r\n`, 400, 'Bad request'],
    ['a length in hex', `${start}Content-Length: 0x10\r\n\r\n`, 400, 'Bad request'],
    ['two lengths', `${start}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 400, 'Bad request'],
    [
      'a length and chunks',
      `${start}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'Bad request',
    ],
    [
      'chunks that are none',
      `${start}Authorization: ${BACKEND.authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      'Bad request',
    ],
    [
      'a chunk without an end of size',
      `${start}Authorization: ${BACKEND.authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${'f'.repeat(40)}\r\n`,
      400,
      'Bad request',
    ],
    ['a tunnel', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'Bad request'],
    [
      'a head that is too large',
      `${start}X: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
    ],
    [
      'a path that is too long',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
    ],
    [
      'too many headers',
      `${start}${Array.from({ length: 1000 }, (_, at) => `x${at}: y\r\n`).join('')}\r\n`,
      431,
      'Request Header Fields Too Large',
    ],
  ])('%s', async (_, bytes, status, error) => {
    expect(await lastAnswerTo(Buffer.from(bytes, 'latin1'))).toMatchObject(refusal(status, error));
  });

  it('and the server keeps running', async () => {
    expect(
      (
        await ask(server, 'POST', publishes('/interests'), {
          headers: BACKEND_JSON,
          body: TO_INTERESTS,
        })
      ).status,
    ).toBe(200);
    expect(server.output.stderr).not.toMatch(/"level":"error"/);
  });
});

describe('a request in an unusual form is understood:', () => {
  const body = JSON.stringify(TO_INTERESTS);
  const lines = `Authorization: ${BACKEND.authorization}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const path = publishes('/interests');
  it.each([
    ['for a proxy', `POST http://push.test:6002${path} HTTP/1.1\r\nHost: x\r\n${lines}`],
    ['for a proxy with TLS', `POST https://push.test${path}?a=b HTTP/1.1\r\nHost: x\r\n${lines}`],
    ['with HTTP/1.0 and no host', `POST ${path} HTTP/1.0\r\n${lines}`],
    ['with an empty host', `POST ${path} HTTP/1.1\r\nHost:\r\n${lines}`],
    ['with an empty query', `POST ${path}? HTTP/1.1\r\nHost: x\r\n${lines}`],
    [
      'with headers in capitals',
      `POST ${path} HTTP/1.1\r\nHOST: x\r\n${lines.replace('Authorization', 'AUTHORIZATION')}`,
    ],
    [
      'asking for WebSockets',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${lines}`,
    ],
    [
      'asking for HTTP/2',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n${lines}`,
    ],
    [
      'with an unknown expectation',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: puzzle\r\n${lines}`,
    ],
    ['with empty lines before it', `\r\n\r\nPOST ${path} HTTP/1.1\r\nHost: x\r\n${lines}`],
  ])('%s', async (_, bytes) => {
    await using connection = await open(server);
    connection.write(bytes);
    const answer = seen(await connection.read());
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('publishId')]);
  });

  it('with a path behind what looks like a host in the path', async () => {
    const headers = BACKEND;
    expect((await ask(server, 'DELETE', user('https://a.b/c'), { headers })).status).toBe(200);
    // Here the first step of the path is the host.
    expect(await ask(server, 'DELETE', `http:/${user('ann')}`, { headers })).toMatchObject(NO_PATH);
  });

  it('with Expect: 100-continue', async () => {
    await using connection = await open(server);
    const [head = ''] = lines.split('\r\n\r\n');
    connection.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${head}\r\n\r\n`);
    expect((await connection.read()).status).toBe(100);
    connection.write(body);
    expect(seen(await connection.read()).status).toBe(200);
  });
});

describe('an error reveals no secret', () => {
  it('for any request, and neither does the log', async () => {
    const token = `secret-token-${'x'.repeat(20)}`;
    const id = await registered(server);
    const gone = `fcm-${UNKNOWN}`;
    const jwt = beamsToken({ sub: 'secret-user' }, 'secret-key-of-somebody');
    const answers = [
      await ask(server, 'PUT', device(`fcm/${id}/user`), {
        headers: { authorization: `Bearer ${jwt}` },
      }),
      await ask(server, 'POST', device('fcm'), {
        body: registration('fcm', { token: `${token} ` }),
      }),
      await ask(server, 'POST', device('apns'), { body: registration('apns', { token }) }),
      await ask(server, 'POST', device('web'), { body: registration('web', { token }) }),
      await ask(server, 'GET', device(`fcm/${gone}/interests`)),
      await ask(server, 'PATCH', device(`fcm/${id}`)),
      await ask(server, 'DELETE', user('secret-user'), {
        headers: { authorization: 'Bearer secret-key-of-somebody' },
      }),
      await ask(server, 'POST', publishes('/users'), {
        headers: BACKEND_JSON,
        body: { users: ['secret-user\u0000'], web: {} },
      }),
    ];
    await server.logged(/Push request refused/);
    for (const text of [...answers.map((answer) => answer.text), server.output.stderr]) {
      for (const secret of [
        token,
        'secret-user',
        'secret-key',
        jwt,
        id,
        gone,
        INSTANCE.secretKey,
      ]) {
        expect(text).not.toContain(secret);
      }
    }
    expect(answers.map(({ status }) => status)).toEqual([401, 400, 400, 400, 404, 405, 401, 422]);
  });
});

/** Push protocol, §3.7: after a 404 every device would register again. */
describe('with a store that has lost its content', () => {
  it('the answer for a device is 503 with Retry-After, not that it is unknown', async () => {
    await using own = await startPush();
    const id = await registered(own);
    const tables = ['device_interests', 'devices', 'publishes', 'instance_numbers'];
    await changeStore(own, ...tables.map((table) => `DELETE FROM ${table}`));
    const authorization = `Bearer ${beamsToken()}`;
    const answers = [
      await ask(own, 'GET', device(`fcm/${id}`)),
      await ask(own, 'POST', device('fcm'), { body: registration('fcm') }),
      await ask(own, 'PUT', device(`fcm/${id}/metadata`), { body: {} }),
      await ask(own, 'PUT', device(`fcm/${id}/token`), { body: { token: 'x' } }),
      await ask(own, 'PUT', device(`fcm/${id}/user`), { headers: { authorization } }),
      await ask(own, 'GET', device(`fcm/${id}/interests`)),
      await ask(own, 'PUT', device(`fcm/${id}/interests`), { body: { interests: ['a'] } }),
      await ask(own, 'POST', device(`fcm/${id}/interests/a`)),
      await ask(own, 'DELETE', device(`fcm/${id}/interests/a`)),
      await ask(own, 'DELETE', device(`fcm/${id}`)),
      await ask(own, 'DELETE', user('ann'), { headers: BACKEND }),
      await ask(own, 'GET', publishes(`/pubid-${UNKNOWN}`), { headers: BACKEND }),
      await ask(own, 'POST', publishes('/interests'), {
        headers: BACKEND_JSON,
        body: TO_INTERESTS,
      }),
      await ask(own, 'POST', events(), {
        headers: JSON_HEADERS,
        body: {
          event: 'open',
          publishId: `pubid-${UNKNOWN}`,
          deviceId: id,
          timestampSecs: nowSeconds(),
        },
      }),
    ];
    for (const answer of answers) {
      expect(answer).toMatchObject(refusal(503, 'Service Unavailable'));
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    }
  });
});
