import { afterAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { PushRefusal } from '../../../../src/push/refusal.ts';
import { TrustedProxies } from '../../../../src/runtime/trusted-proxies.ts';
import type { PushAnswer } from '../../../../src/transports/push-api/call.ts';
import { listenForPush } from '../../../../src/transports/push-api/listener.ts';
import {
  type RawAnswer,
  RawHttp,
  type RawRequest,
  requestBytes,
} from '../../../../testing/clients/raw-http.ts';
import { untrusted } from '../../../../testing/servers/certificates.ts';
import { selfSigned } from '../../../cli/certificates.ts';
import { openListener } from './open-listener.ts';

const ID = '0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a69';
const INTERESTS = `/publish_api/v1/instances/${ID}/publishes/interests`;
const USERS = `/publish_api/v1/instances/${ID}/publishes/users`;
const DEVICE = `/device_api/v1/instances/${ID}/devices/web/web-1`;
const JSON_HEADERS = { 'content-type': 'application/json' };

/** A publish with a body of so many bytes. */
const publish = (bytes: number): RawRequest => ({
  method: 'POST',
  target: INTERESTS,
  headers: JSON_HEADERS,
  body: 'x'.repeat(bytes),
});

/** What stands in a refusal; fails where it is not shaped as every refusal is. */
function refused(answer: RawAnswer): [status: number, error: string, description: string] {
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.body).toEndWith('}\n');
  const { error, description, ...others } = JSON.parse(answer.body);
  expect(others).toEqual({});
  expect(error).toBeString();
  expect(description).not.toBe('');
  return [answer.status, error, description];
}

/** Sends these bytes on a connection of their own; gives the refusal, and waits for the end. */
async function refusedBytes(server: { readonly port: number }, ...parts: (string | Uint8Array)[]) {
  await using connection = await RawHttp.open(server);
  for (const part of parts) connection.writes(part);
  const answer = await connection.reads();
  expect(answer.headers.get('connection')).toBe('close');
  await connection.ends();
  return refused(answer);
}

describe('a request that is no HTTP is refused like any other:', () => {
  const START = `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\n`;

  it.each([
    ['garbage', '\0\x01\x02\r\n\r\n', 'The request does not begin with an HTTP method'],
    ['TLS', '\x16\x03\x01\x02\0\x01\0', 'The request does not begin with an HTTP method'],
    [
      'an unknown method',
      'FOO / HTTP/1.1\r\nHost: x\r\n\r\n',
      'The request does not begin with an HTTP method',
    ],
    [
      'another version',
      'GET / HTTP/2.0\r\nHost: x\r\n\r\n',
      'Only HTTP/1.1 and HTTP/1.0 are supported',
    ],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'Only HTTP/1.1 and HTTP/1.0 are supported'],
    [
      'a path with a raw ü',
      'GET /ü HTTP/1.1\r\nHost: x\r\n\r\n',
      'The path of the request has a character that must be escaped',
    ],
    ['no path', 'GET * HTTP/1.1\r\nHost: x\r\n\r\n', 'The request is not valid HTTP'],
    ['a header with a space', `${START}a b: c\r\n\r\n`, 'A header of the request is not valid'],
    ['no host', 'GET / HTTP/1.1\r\nconnection: close\r\n\r\n', 'The Host header is missing'],
    [
      'a negative length',
      `${START}Content-Length: -1\r\n\r\n`,
      'The Content-Length header is not valid',
    ],
    [
      'a length that is no number',
      `${START}Content-Length: 1x\r\n\r\nab`,
      'The Content-Length header is not valid',
    ],
    [
      'an endless length',
      `${START}Content-Length: ${'9'.repeat(30)}\r\n\r\nab`,
      'The Content-Length header is not valid',
    ],
    [
      'two lengths',
      `${START}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      'The Content-Length header is not valid',
    ],
    [
      'a length and chunks',
      `${START}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'The Transfer-Encoding header is not valid',
    ],
    [
      'a proxy request',
      'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n',
      'CONNECT is not supported: this is no proxy',
    ],
  ])('%s', async (_, bytes, description) => {
    await using server = await openListener();
    expect(await refusedBytes(server, bytes)).toEqual([400, 'Bad request', description]);
    expect([...server.counted]).toEqual([[expect.any(String), 1]]);
    expect(server.lines).toMatchObject([
      {
        level: 'info',
        message: 'Push request refused',
        status: 400,
        why: description,
        address: '127.0.0.1',
      },
    ]);
  });

  it.each([
    [
      'a chunk that is none',
      'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n',
      'A chunk of the body is not valid',
    ],
    [
      'an unknown encoding',
      'Transfer-Encoding: gzip\r\n\r\nabc',
      'The Transfer-Encoding header is not valid',
    ],
  ])('%s, within the body', async (_, rest, description) => {
    await using server = await openListener();
    const head = `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
    expect(await refusedBytes(server, head + rest)).toEqual([400, 'Bad request', description]);
    expect([...server.counted]).toEqual([['publish 400', 1]]);
  });

  it('a head that is too large, in one header or in many, also while it is still being sent', async () => {
    await using server = await openListener();
    const many = Array.from({ length: 300 }, (_, at) => `X${at}: y\r\n`).join('');
    for (const headers of [`X: ${'x'.repeat(17_000)}\r\n`, many, `X: ${'x'.repeat(5_000_000)}`]) {
      expect(await refusedBytes(server, `${START}${headers}\r\n`)).toEqual([
        431,
        'Request Header Fields Too Large',
        'The head of the request is too large',
      ]);
    }
    expect(server.counted.get('publish 431')).toBe(3);
  });

  it('one whose sender has gone after half of it', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.writes('GET / HTTP/1.1\r\nHo');
    connection.finishes();
    expect(refused(await connection.reads())).toEqual([
      400,
      'Bad request',
      'The request is incomplete',
    ]);
    await connection.ends();
  });

  it('after the answers to those before it', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    await using server = await openListener({
      endpoints: { publishToInterests: { answer: () => gate.promise } },
    });
    await using connection = await RawHttp.open(server);
    connection.requests(publish(5));
    connection.requests(publish(5));
    connection.writes('GARBAGE\r\n\r\n');
    await until(() => server.counted.has('other 400'));
    gate.resolve({ json: '{}' });
    expect((await connection.reads()).status).toBe(200);
    expect((await connection.reads()).status).toBe(200);
    expect(refused(await connection.reads())[0]).toBe(400);
    await connection.ends();
  });

  it('also where all of it comes at once', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const twice = [publish(5), publish(5)].map(requestBytes);
    connection.writes(Buffer.concat([...twice, Buffer.from('GARBAGE\r\n\r\n')]));
    expect((await connection.reads()).status).toBe(200);
    expect((await connection.reads()).status).toBe(200);
    expect(refused(await connection.reads())[0]).toBe(400);
    await connection.ends();
  });

  it('and a page may read why where the path tells that it may', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.writes(`GET ${DEVICE} HTTP/1.1\r\nHost: x\r\na b: c\r\n\r\n`);
    const answer = await connection.reads();
    expect(refused(answer)[0]).toBe(400);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });
});

/** Waits for what the server does by itself, turn by turn of the loop. */
/** What is logged of a connection that the server ends. */
function closed(why: string) {
  return { level: 'info', message: `Push connection closed: ${why}`, address: '127.0.0.1' };
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a request that is not finished in time', () => {
  const head = `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;

  it.each([
    ['nothing', '', undefined],
    ['half a head', 'GET / HTTP/1.1\r\nHo', undefined],
    ['drops of a head', 'GET / HTTP/1.1\r\nX: ', 'x'],
    ['half a body', `${head}Content-Length: 10\r\n\r\nabc`, undefined],
    ['drops of a body', `${head}Content-Length: 9999\r\n\r\n`, 'x'],
    ['drops of chunks', `${head}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'],
  ])('is refused with 408 and closed: %s', async (_, start, drop) => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.writes(start);
    const dripping = setInterval(() => drop !== undefined && connection.writes(drop), 20);
    const answer = await connection.reads();
    clearInterval(dripping);
    expect(refused(answer)).toEqual([
      408,
      'Request Timeout',
      'The request was not complete in time',
    ]);
    await connection.ends();
  });

  it('is closed without a second answer where it was answered before its end', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.writes('POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    expect(refused(await connection.reads())[0]).toBe(404);
    expect(await connection.readsToEnd()).toBe('');
  });

  it('is measured from its own first byte, not from that of an earlier one', async () => {
    await using server = await openListener({ bounds: { idleMs: 60_000 } });
    await using connection = await RawHttp.open(server);
    expect((await connection.asks(publish(5))).status).toBe(200);
    connection.writes('GET / HTTP/1.1\r\nHo');
    expect(refused(await connection.reads())[0]).toBe(408);
    await connection.ends();
  });
});

it('gives an answer the time that it takes to make', async () => {
  const gate = Promise.withResolvers<PushAnswer>();
  await using server = await openListener({
    bounds: { idleMs: 100 },
    endpoints: { readDevice: { answer: () => gate.promise } },
  });
  await using connection = await RawHttp.open(server);
  connection.requests({ method: 'GET', target: DEVICE });
  // Once this one has run out of time, the other one has been under way for longer.
  await using late = await RawHttp.open(server);
  late.writes(`POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`);
  late.writes('Content-Length: 10\r\n\r\nabc');
  expect((await late.reads()).status).toBe(408);
  gate.resolve({ json: '{}' });
  expect((await connection.reads()).status).toBe(200);
});

it('closes a connection that has not asked for anything for a while', async () => {
  await using server = await openListener({ bounds: { idleMs: 100 } });
  await using connection = await RawHttp.open(server);
  expect((await connection.asks(publish(5))).status).toBe(200);
  expect(await connection.readsToEnd()).toBe('');
});

describe('routing', () => {
  it('gives an endpoint what the request says', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const target = `/device_api/v1/instances/${ID}/devices/web/web-1/interests?limit=5&cursor=a%20b`;
    const answer = await connection.asks({ method: 'GET', target, headers: JSON_HEADERS });
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
    expect([...server.counted]).toEqual([['device 200', 1]]);
  });

  it('knows the target of a request to a proxy, and HTTP/1.0', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const answer = await connection.asks({ method: 'GET', target: `http://x.org${DEVICE}?a` });
    expect(JSON.parse(answer.body)).toMatchObject({ path: DEVICE, query: [['a', '']] });
    connection.writes(`GET ${DEVICE} HTTP/1.0\r\n\r\n`);
    expect((await connection.reads()).status).toBe(200);
    await connection.ends();
  });

  it('refuses unknown paths, wrong methods and paths without an instance', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const ask = (method: string, target: string) => connection.asks({ method, target });
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
      ['other 404', 1],
      ['publish 404', 1],
      ['publish 405', 1],
      ['publish 400', 3],
    ]);
  });

  it('answers HEAD as GET, without the body', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const get = await connection.asks({ method: 'GET', target: DEVICE });
    const head = await connection.asks({ method: 'HEAD', target: DEVICE });
    expect(head.status).toBe(200);
    expect(Number(head.headers.get('content-length'))).toBe(get.body.length + 1);
    const none = await connection.asks({ method: 'HEAD', target: '/nowhere' });
    expect(none.status).toBe(404);
    expect((await connection.asks({ method: 'GET', target: DEVICE })).status).toBe(200);
  });

  it('answers an upgrade as if nobody had asked for it', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
    };
    const ask = (target: string, headers: Record<string, string>) =>
      connection.asks({ method: 'GET', target, headers });
    expect(refused(await ask('/app/x', upgrade))[0]).toBe(404);
    expect((await ask(DEVICE, { connection: 'Upgrade', upgrade: 'h2c' })).status).toBe(200);
  });

  it('lets pages of other sites call the device API, and no other', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const ask = (method: string, target: string) =>
      connection.asks({ method, target, headers: { origin: 'https://x.org' } });
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
    const json = await connection.asks({ method: 'POST', target: INTERESTS, body: '{}' });
    expect([json.status, json.body]).toEqual([200, '{"a":"ü"}\n']);
    const limited = await connection.asks({ method: 'POST', target: USERS, body: '{}' });
    expect(refused(limited)).toEqual([429, 'Rate Limited', 'Too many']);
    expect(limited.headers.get('retry-after')).toBe('1');
    const text = await connection.asks({ method: 'GET', target: '/sdk/service-worker.js' });
    expect([text.body, text.headers.get('content-type'), text.headers.get('etag')]).toEqual([
      'ü',
      'text/javascript',
      '"1"',
    ]);
    const target = `/user_api/v1/instances/${ID}/users/ann`;
    const empty = await connection.asks({ method: 'DELETE', target, headers: JSON_HEADERS });
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
    const answer = await connection.asks({ method: 'GET', target: DEVICE });
    expect(refused(answer)).toEqual([500, 'Something went wrong', 'Internal server error']);
    expect((await connection.asks(publish(5))).status).toBe(200);
    const [line] = server.lines;
    expect(line).toMatchObject({
      level: 'error',
      message: 'Push request failed: internal error',
    });
    expect(line?.['error']).toContain('    at ');
    expect(JSON.stringify(server.lines)).not.toContain('web-1');
  });

  it('that cannot ask its store is logged as a warning', async () => {
    await using server = await openListener({
      endpoints: { readDevice: { answer: async () => new PushRefusal('store', 'It is away', 5) } },
    });
    await using connection = await RawHttp.open(server);
    const answer = await connection.asks({ method: 'GET', target: DEVICE });
    expect(refused(answer)).toEqual([503, 'Service Unavailable', 'It is away']);
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(server.lines).toMatchObject([{ level: 'warn', status: 503 }]);
  });

  it('is not asked before there is one', async () => {
    await using server = await openListener({ starting: true });
    await using connection = await RawHttp.open(server);
    const answer = await connection.asks(publish(5));
    expect(refused(answer)).toEqual([503, 'Service Unavailable', 'The server is starting']);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(refused(await connection.asks({ method: 'GET', target: '/' }))[0]).toBe(404);
  });

  it('does its work, and is not told, when nobody waits for its answer any more', async () => {
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
      connection.requests({ method: 'GET', target: DEVICE });
      await asked.promise;
    }
    gate.resolve({ json: '{}' });
    await using connection = await RawHttp.open(server);
    const statuses = async () => (await connection.asks(publish(5))).status;
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
    await connection.asks({
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
});

describe('a body', () => {
  it('may come in pieces, in chunks, or after a question', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const headers = JSON_HEADERS;
    const bytesOf = async (answer: Promise<RawAnswer>) => JSON.parse((await answer).body).bytes;
    expect(await bytesOf(connection.asks(publish(10_240)))).toBe(10_240);
    const chunks = ['a'.repeat(9000), 'b', 'c'.repeat(1239)];
    expect(
      await bytesOf(connection.asks({ method: 'POST', target: INTERESTS, headers, chunks })),
    ).toBe(10_240);

    connection.writes(
      `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect((await connection.reads()).status).toBe(100);
    connection.writes('a');
    connection.writes('bc');
    expect(await bytesOf(connection.reads())).toBe(3);
    const puzzled = { ...headers, expect: 'puzzle' };
    expect(
      await bytesOf(
        connection.asks({ method: 'POST', target: INTERESTS, headers: puzzled, body: 'abc' }),
      ),
    ).toBe(3);
  });

  it('may be empty, whatever its content type', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    for (const method of ['GET', 'DELETE', 'PUT', 'POST']) {
      const target =
        method === 'PUT' ? `${DEVICE}/user` : method === 'POST' ? `${DEVICE}/interests/a` : DEVICE;
      for (const framing of [{}, { body: '' }, { chunks: [] }]) {
        const answer = await connection.asks({ method, target, headers: JSON_HEADERS, ...framing });
        expect(JSON.parse(answer.body)).toMatchObject({ method, bytes: 0 });
      }
    }
  });

  it('of many packets arrives whole', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const body = 'x'.repeat(1_048_576);
    const answer = await connection.asks({ method: 'PUT', target: `${DEVICE}/interests`, body });
    expect(JSON.parse(answer.body).bytes).toBe(body.length);
  });

  it.each([
    [INTERESTS, 10_240, 'Bad request', '10 KiB'],
    [USERS, 204_800, 'Bad request', '200 KiB'],
    [`/device_api/v1/instances/${ID}/devices/web`, 16_384, 'Bad Request', '16 KiB'],
    [`/reporting_api/v2/instances/${ID}/events`, 16_384, 'Bad request', '16 KiB'],
  ])('that is too large is refused: %s', async (target, max, title, bound) => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const ask = (framing: Partial<RawRequest>) =>
      connection.asks({ method: 'POST', target, headers: JSON_HEADERS, ...framing });
    expect((await ask({ body: 'x'.repeat(max) })).status).toBe(200);
    expect((await ask({ chunks: ['x'.repeat(max)] })).status).toBe(200);
    const expected = [400, title, `The body is larger than ${bound}`];
    // By its length, and the connection goes on.
    expect(refused(await ask({ body: 'x'.repeat(max + 1) }))).toEqual(expected as never);
    expect((await ask({ body: 'x' })).status).toBe(200);
    // In chunks, and the connection ends, since nobody knows how many are to come.
    const answer = await ask({ chunks: ['x'.repeat(max), 'x'] });
    expect(refused(answer)).toEqual(expected as never);
    expect(answer.headers.get('connection')).toBe('close');
    await connection.ends();
  });

  it('is not waited for where the head is refused', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.writes(`POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n`);
    expect(refused(await connection.reads())[1]).toBe('Invalid content type');
    // What then comes of it is skipped.
    connection.writes('x'.repeat(50_000));
    expect((await connection.asks(publish(5))).status).toBe(200);
  });

  it('is not asked for where the head is refused', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.writes(
      `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
    );
    const answer = await connection.reads();
    expect(refused(answer)[1]).toBe('Invalid content type');
    expect(answer.headers.get('connection')).toBe('close');
    await connection.ends();
  });

  it.each([
    ['a length', (bytes: number) => `Content-Length: ${bytes}\r\n\r\n`],
    ['chunks', (bytes: number) => `Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n`],
  ])('that is far too large, with %s, still lets its sender see the answer', async (_, framing) => {
    await using server = await openListener({ bounds: { lingerMs: 3000 } });
    await using connection = await RawHttp.open(server);
    connection.writes(
      `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing(8_000_000)}`,
    );
    // All of it is sent before the answer is looked at, as some clients do.
    connection.writes('x'.repeat(8_000_000));
    const answer = await connection.reads();
    expect(refused(answer)).toEqual([400, 'Bad request', 'The body is larger than 10 KiB']);
    expect(answer.headers.get('connection')).toBe('close');
    await connection.ends();
  });

  it('without an end is not read for ever', async () => {
    await using server = await openListener({ bounds: { lingerMs: 60_000, lingerBytes: 100_000 } });
    await using connection = await RawHttp.open(server);
    connection.writes(
      `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const sending = setInterval(() => connection.writes(`2710\r\n${'x'.repeat(10_000)}\r\n`), 5);
    await connection.ends();
    clearInterval(sending);
  });
});

describe('connections', () => {
  it('take many requests, pipelined as well, and answer them in order', async () => {
    let first = Promise.withResolvers<void>();
    await using server = await openListener({
      endpoints: {
        readDevice: {
          async answer({ query }) {
            // The first is the last to be ready.
            if (query.get('at') === '0') await first.promise;
            if (query.get('at') === '19') first.resolve();
            return { json: `"${query.get('at')}"` };
          },
        },
      },
    });
    await using connection = await RawHttp.open(server);
    for (const _ of [1, 2]) {
      first = Promise.withResolvers<void>();
      for (let at = 0; at < 20; at++) {
        connection.requests({ method: 'GET', target: `${DEVICE}?at=${at}` });
      }
      for (let at = 0; at < 20; at++) expect((await connection.reads()).body).toBe(`"${at}"\n`);
    }
  });

  it('end with too many requests at once', async () => {
    await using server = await openListener({
      endpoints: { readDevice: { answer: () => new Promise(() => undefined) } },
    });
    await using connection = await RawHttp.open(server);
    for (let at = 0; at < 33; at++) connection.requests({ method: 'GET', target: DEVICE });
    expect(await connection.readsToEnd()).toBe('');
    expect(server.lines).toEqual([closed('too many requests without an answer')]);
  });

  it.each([
    ['their answers', 100, 'keep-alive'],
    ['the last answer', 1, 'close'],
  ])('end when nobody takes %s', async (_, requests, connects) => {
    // More than the system takes itself: 4 MB, and 37 where its buffers may grow to 4 and 32 MiB.
    const bytes = 40_000_000;
    await using server = await openListener({
      bounds: { unreadAnswerMs: 200, requestsPerConnection: 100_000 },
      endpoints: {
        readDevice: { answer: () => ({ json: JSON.stringify('x'.repeat(bytes / requests)) }) },
      },
    });
    await using connection = await RawHttp.open(server);
    connection.listensNoMore();
    // In one piece: Bun reads no more of a connection whose answers wait.
    const request = `GET ${DEVICE} HTTP/1.1\r\nHost: x\r\nConnection: ${connects}\r\n\r\n`;
    connection.writes(request.repeat(requests));
    await until(() => server.lines.length > 0);
    // The end is seen once what came before it is read.
    connection.listensAgain();
    await connection.ends();
    expect(server.lines).toEqual([closed('the client does not read its answers')]);
  });

  it('end when answers that nobody takes fill the memory for them', async () => {
    await using server = await openListener({
      bounds: { requestsPerConnection: 100_000, heldBytes: 1_000_000 },
      endpoints: {
        readDevice: { answer: () => ({ json: JSON.stringify('x'.repeat(100_000)) }) },
      },
    });
    await using connection = await RawHttp.open(server);
    connection.listensNoMore();
    connection.writes(`GET ${DEVICE} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(100));
    await until(() => server.lines.length > 0);
    // The end is seen once what came before it is read.
    connection.listensAgain();
    await connection.ends();
    expect(server.lines).toEqual([closed('unread answers fill the memory reserved for them')]);
  });

  it('have 503 while too many requests are under way, or their bodies are too large together', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    await using server = await openListener({
      bounds: { requests: 2, heldBytes: 200_000 },
      endpoints: { readDevice: { answer: () => gate.promise } },
    });
    await using waiting = await RawHttp.open(server);
    await using other = await RawHttp.open(server);
    waiting.requests({ method: 'GET', target: DEVICE });
    waiting.requests({ method: 'GET', target: DEVICE });
    let answer = await other.asks(publish(5));
    while (answer.status === 200) answer = await other.asks(publish(5));
    expect(refused(answer)).toEqual([
      503,
      'Service Unavailable',
      'Server is overloaded, try again',
    ]);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('connection')).toBe('close');
    await other.ends();
    gate.resolve({ json: '{}' });
    await waiting.reads();
    await waiting.reads();
    await using next = await RawHttp.open(server);
    expect((await next.asks(publish(5))).status).toBe(200);

    const body = 'x'.repeat(200_001);
    const large = await next.asks({ method: 'PUT', target: `${DEVICE}/interests`, body });
    expect(refused(large)[0]).toBe(503);
    expect(large.headers.get('connection')).toBe('close');
    expect((await waiting.asks(publish(5))).status).toBe(200);
  });

  it('that are cut off leave nothing behind', async () => {
    await using server = await openListener({ bounds: { requests: 3, heldBytes: 10_000 } });
    for (let at = 0; at < 30; at++) {
      await using connection = await RawHttp.open(server);
      connection.requests(publish(500));
      expect((await connection.reads()).status).toBe(200);
      connection.writes(
        `POST ${at % 2 === 0 ? INTERESTS : '/'} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n${'x'.repeat(5000)}`,
      );
    }
    await using connection = await RawHttp.open(server);
    // The last of them may take a turn to go.
    while ((await connection.asks(publish(9000))).status !== 200);
    expect((await connection.asks(publish(9000))).status).toBe(200);
  });

  it('that are cut off while one answer waits for another leave nothing behind', async () => {
    let gate = Promise.withResolvers<PushAnswer>();
    await using server = await openListener({
      bounds: { requests: 3 },
      endpoints: { readDevice: { answer: () => gate.promise } },
    });
    const published = () => server.counted.get('publish 200') ?? 0;
    for (let at = 1; at <= 10; at++) {
      gate = Promise.withResolvers();
      await using connection = await RawHttp.open(server);
      connection.requests({ method: 'GET', target: DEVICE });
      connection.requests(publish(5));
      await until(() => published() === at);
      await connection[Symbol.asyncDispose]();
      gate.resolve({ json: '{}' });
      await using next = await RawHttp.open(server);
      // It may take a turn to go.
      while ((await next.asks({ method: 'OPTIONS', target: DEVICE })).status !== 204);
    }
    await using connection = await RawHttp.open(server);
    connection.requests(publish(5));
    connection.requests(publish(5));
    connection.requests(publish(5));
    for (const _ of [1, 2, 3]) expect((await connection.reads()).status).toBe(200);
  });
});

describe('opening', () => {
  it('fails with the code of the system when the port is taken', async () => {
    await using server = await openListener();
    const again = listenForPush(
      { host: '127.0.0.1', port: server.port, tls: undefined },
      {
        log: { debug: noop, info: noop, warn: noop, error: noop },
        meter: { count: noop },
        proxies: new TrustedProxies([]),
      },
    );
    await expect(again).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('tells where it listens', async () => {
    await using server = await openListener();
    expect(server.listener.address).toEqual({ host: '127.0.0.1', port: server.port, tls: false });
    expect(server.port).toBeGreaterThan(0);
  });
});

function noop(): undefined {
  return undefined;
}

describe('stopping', () => {
  it('takes no more connections, ends idle ones and lets requests under way have their answers', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    const asked = Promise.withResolvers<void>();
    const server = await openListener({
      bounds: { stopMs: 60_000 },
      endpoints: {
        readDevice: {
          answer() {
            asked.resolve();
            return gate.promise;
          },
        },
      },
    });
    await using idle = await RawHttp.open(server);
    await idle.asks(publish(5));
    await using waiting = await RawHttp.open(server);
    waiting.requests({ method: 'GET', target: DEVICE });
    await asked.promise;
    const stopped = server[Symbol.asyncDispose]();
    await idle.ends();
    await expect(RawHttp.open(server)).rejects.toThrow();
    gate.resolve({ json: '{}' });
    const answer = await waiting.reads();
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await waiting.ends();
    await stopped;
  });

  it('does not wait for ever', async () => {
    const server = await openListener({
      endpoints: { readDevice: { answer: () => new Promise(() => undefined) } },
    });
    await using hanging = await RawHttp.open(server);
    hanging.requests({ method: 'GET', target: DEVICE });
    await using half = await RawHttp.open(server);
    half.writes('GET / HTTP/1.1\r\nHo');
    await using lingering = await RawHttp.open(server);
    lingering.writes('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n');
    await lingering.reads();
    await server[Symbol.asyncDispose]();
    await hanging.ends();
    await half.ends();
    await lingering.ends();
    await server[Symbol.asyncDispose]();
  });
});

describe('with a certificate', () => {
  it('serves over TLS', async () => {
    await using server = await openListener({ tls: untrusted });
    expect(server.listener.address.tls).toBe(true);
    await using connection = await RawHttp.open(server, { tls: true });
    expect((await connection.asks(publish(10_000))).status).toBe(200);
    connection.requests(publish(10));
    connection.writes('GARBAGE\r\n\r\n');
    expect((await connection.reads()).status).toBe(200);
    expect(refused(await connection.reads())[0]).toBe(400);
    await connection.ends();
  });

  it('closes a connection that speaks plain HTTP, and goes on', async () => {
    await using server = await openListener({ tls: untrusted });
    await using plain = await RawHttp.open(server);
    plain.writes('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await plain.readsToEnd()).not.toStartWith('HTTP');
    await using connection = await RawHttp.open(server, { tls: true });
    expect((await connection.asks(publish(5))).status).toBe(200);
  });

  it('takes another one for new connections, and lets the old ones end with their answers', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    const asked = Promise.withResolvers<void>();
    await using server = await openListener({
      tls: untrusted,
      endpoints: {
        readDevice: {
          answer() {
            asked.resolve();
            return gate.promise;
          },
        },
      },
    });
    const [one, two] = [selfSigned(directory, 'one'), selfSigned(directory, 'two')];
    expect(await certificateOf(server)).toBe('127.0.0.1');
    await using waiting = await RawHttp.open(server, { tls: true });
    waiting.requests({ method: 'GET', target: DEVICE });
    await asked.promise;

    await server.listener.replaceCertificate(one);
    expect(await certificateOf(server)).toBe('one');
    gate.resolve({ json: '{}' });
    const answer = await waiting.reads();
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    await waiting.ends();

    // Both at once, and the later one stays.
    await Promise.all([
      server.listener.replaceCertificate(two),
      server.listener.replaceCertificate(one),
    ]);
    expect(await certificateOf(server)).toBe('one');
    await server.listener.replaceCertificate(two);
    expect(await certificateOf(server)).toBe('two');
    await using connection = await RawHttp.open(server, { tls: true });
    expect((await connection.asks(publish(5))).status).toBe(200);
  });

  it('keeps the old one where the new one cannot be used', async () => {
    await using server = await openListener({ tls: untrusted });
    await using before = await RawHttp.open(server, { tls: true });
    expect((await before.asks(publish(5))).status).toBe(200);
    const other = selfSigned(directory, 'other');
    for (const tls of [
      { cert: other.cert, key: untrusted.key },
      { cert: 'x', key: 'y' },
    ]) {
      await expect(server.listener.replaceCertificate(tls)).rejects.toThrow();
      expect(await certificateOf(server)).toBe('127.0.0.1');
    }
    expect((await before.asks(publish(5))).status).toBe(200);
  });

  it('is a matter of TLS alone', async () => {
    await using server = await openListener();
    await server.listener.replaceCertificate(untrusted);
    await using connection = await RawHttp.open(server);
    expect((await connection.asks(publish(5))).status).toBe(200);
  });
});

const directory = mkdtempSync(join(tmpdir(), 'fanfare-push-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Whose certificate a new connection is shown. */
async function certificateOf(server: { readonly port: number }): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false });
  socket.once('secureConnect', () => resolve(socket.getPeerCertificate().subject['CN']));
  socket.once('error', reject);
  return await promise.finally(() => socket.destroy());
}
