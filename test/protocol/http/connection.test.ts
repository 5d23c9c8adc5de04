import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import {
  chunkBytes,
  RawHttp,
  type RawRequest,
  requestBytes,
} from '../../../testing/clients/raw-http.ts';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { testSeed } from '../../../testing/long-run.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { gets, subscriber } from './exchange.ts';

fc.configureGlobal({ seed: testSeed() });

let server: Fanfare;
/** Several threads may close a connection whose next request comes before the answer to the last. */
let oneThread: Fanfare;
beforeAll(async () => {
  server = await startFanfare();
  oneThread = await startFanfare({ threads: 1, onlyOne: 'pipelining' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await oneThread[Symbol.asyncDispose]();
});

const path = `/apps/${APP.id}/events`;

function post(body: string, over: Partial<RawRequest> = {}): RawRequest {
  return { method: 'POST', target: signedTarget('POST', path, { body }), body, ...over };
}

/** The same, sent in chunks. */
function chunked(body: string, bytes = 7): RawRequest {
  const { method, target } = post(body);
  return { method, target, chunks: body.match(new RegExp(`.{1,${bytes}}`, 'gs')) ?? [] };
}

function get(channel: string): RawRequest {
  return { method: 'GET', target: signedTarget('GET', `/apps/${APP.id}/channels/${channel}`) };
}

const eventOf = (channel: string, name = 'n') =>
  JSON.stringify({ name, channel, data: 'd'.repeat(30) });

describe('a connection', () => {
  it('serves any number of requests, one after the other', async () => {
    await using client = await subscriber(server, 'kept');
    await using connection = await RawHttp.open(server);
    for (let at = 0; at < 200; at++) {
      const body = eventOf('kept', `n${at}`);
      const answer = await connection.request(at % 2 === 0 ? post(body) : chunked(body));
      expect(answer).toMatchObject({ version: 'HTTP/1.1', status: 200, body: '{}' });
      expect(answer.headers.get('connection')).not.toBe('close');
      expect(await client.receive()).toMatchObject({ event: `n${at}` });
      expect(await connection.request(get('kept'))).toMatchObject({ body: '{"occupied":true}' });
    }
    expect(connection.ended).toBe(false);
  });

  it('stays open after a refusal', async () => {
    await using connection = await RawHttp.open(server);
    const refusals: readonly (readonly [RawRequest, number])[] = [
      [post('{'), 400],
      [chunked('{'), 400],
      [{ method: 'GET', target: '/apps/3/channels' }, 401],
      [{ method: 'POST', target: '/apps/3/events', body: 'x' }, 401],
      [{ method: 'GET', target: '/nope' }, 404],
      [{ method: 'PUT', target: path, body: 'x' }, 405],
      [post(JSON.stringify({ name: 'n', channel: 'a', data: 'x'.repeat(10_241) })), 413],
    ];
    for (const [request, status] of refusals) {
      expect(await connection.request(request)).toMatchObject({ status });
      expect(await connection.request(get('a'))).toMatchObject({ status: 200 });
    }
  });

  it('is closed after the answer if the request asks for that', async () => {
    for (const request of [get('a'), post(eventOf('a')), { method: 'GET', target: '/nope' }]) {
      await using connection = await RawHttp.open(server);
      const answer = await connection.request({ ...request, headers: { Connection: 'close' } });
      expect(answer.status).not.toBe(500);
      await connection.untilEnd();
    }
  });

  it('may use HTTP/1.0', async () => {
    for (const request of [get('a'), post(eventOf('a'))]) {
      await using connection = await RawHttp.open(server);
      expect(await connection.request({ ...request, version: 'HTTP/1.0' })).toMatchObject({
        status: 200,
      });
      await connection.untilEnd();
    }
  });

  it('gets 100 Continue if it asks before sending a body', async () => {
    await using connection = await RawHttp.open(server);
    const body = eventOf('a');
    const bytes = requestBytes(post(body, { headers: { Expect: '100-continue' } }));
    const bodyAt = bytes.length - Buffer.byteLength(body);
    connection.write(bytes.subarray(0, bodyAt));
    expect(await connection.read()).toMatchObject({ status: 100 });
    connection.write(bytes.subarray(bodyAt));
    expect(await connection.read()).toMatchObject({ status: 200, body: '{}' });
    expect(await connection.request(get('a'))).toMatchObject({ status: 200 });
  });

  it('does not mistake the body of a GET, or of a refused request, for the next request', async () => {
    const smuggled = `${requestBytes(post(eventOf('smuggled')))}`;
    await using client = await subscriber(oneThread, 'smuggled');
    const carriers: readonly (readonly [RawRequest, number])[] = [
      [get('a'), 200],
      [{ method: 'POST', target: '/nope' }, 404],
      [{ method: 'DELETE', target: path }, 405],
      [{ method: 'POST', target: path }, 401],
    ];
    for (const [carrier, status] of carriers) {
      for (const body of [{ body: smuggled }, { chunks: [smuggled] }]) {
        await using connection = await RawHttp.open(oneThread);
        connection.sendRequest({ ...carrier, ...body });
        connection.sendRequest(get('smuggled'));
        expect(await connection.read()).toMatchObject({ status });
        expect(await connection.read()).toMatchObject({ body: '{"occupied":true}' });
      }
    }
    await client.receiveNothing();
  });

  it('that ends in the middle of a body sends nothing', async () => {
    await using client = await subscriber(server, 'half');
    const body = eventOf('half');
    for (const request of [post(body), chunked(body)]) {
      const bytes = requestBytes(request);
      for (const missing of [10, 40]) {
        await using connection = await RawHttp.open(server);
        connection.write(bytes.subarray(0, bytes.length - missing));
        connection.endWriting();
        expect(await connection.readOrEnd()).toBeUndefined();
      }
    }
    await client.receiveNothing();
  });

  it.each([
    ['two lengths', 'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'],
    [
      'a length and chunks',
      'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
    ],
    ['a negative length', 'Content-Length: -3\r\n\r\nabc'],
    ['a length that is no number', 'Content-Length: 0x3\r\n\r\nabc'],
    ['a length beyond all numbers', `Content-Length: ${'9'.repeat(25)}\r\n\r\nabc`],
    ['a chunk whose size is no number', 'Transfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n'],
    ['an unknown transfer encoding', 'Transfer-Encoding: gzip\r\n\r\nabc'],
    ['a header without a colon', 'nonsense\r\n\r\n'],
    ['a space before a colon', 'Content-Length : 3\r\n\r\nabc'],
  ])('that sends %s is refused with 4xx and closed', async (_, rest) => {
    await using connection = await RawHttp.open(server);
    connection.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n${rest}`);
    const answer = await connection.read();
    expect(answer.status).toBeWithin(400, 500);
    await connection.untilEnd();
  });
});

describe('a request to which a proxy added Upgrade: websocket', () => {
  const headers = { Upgrade: 'websocket', Connection: 'Upgrade' };

  it.each([
    ['a question', get('a'), '200 {"occupied":false}'],
    ['a trigger', post(eventOf('upgraded')), '200 {}'],
    ['an unknown path', { method: 'GET', target: '/nope' }, '404 404 NOT FOUND'],
    ['an unsigned question', { method: 'GET', target: '/apps/3/channels' }, '401 Missing'],
    ['no handshake', { method: 'GET', target: `/app/${APP.key}` }, '400 This is not a valid'],
  ])('is answered as without it: %s', async (_, request: RawRequest, expected) => {
    await using connection = await RawHttp.open(server);
    const { status, body } = await connection.request({ ...request, headers });
    expect(`${status} ${body}`).toStartWith(expected);
  });

  it('is answered as without it also if it is a whole handshake', async () => {
    await using connection = await RawHttp.open(server);
    const handshake = {
      ...headers,
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const answer = await connection.request({ ...get('a'), headers: handshake });
    expect(answer).toMatchObject({ status: 200, body: '{"occupied":false}' });
  });
});

describe('pipelined requests', () => {
  const kinds: readonly (readonly [what: string, request: RawRequest, answer: string])[] = [
    ['a trigger', post(eventOf('piped')), '200 {}'],
    ['a trigger in chunks', chunked(eventOf('piped')), '200 {}'],
    ['a trigger to a cache channel', post(eventOf('cache-piped')), '200 {}'],
    ['a trigger in chunks to a cache channel', chunked(eventOf('cache-piped')), '200 {}'],
    [
      'a question',
      { method: 'GET', target: signedTarget('GET', '/apps/3/channels/a') },
      '200 {"occupied":false}',
    ],
    [
      'a question after what is remembered',
      {
        method: 'GET',
        target: signedTarget('GET', '/apps/3/channels/cache-q', { query: { info: 'cache' } }),
      },
      '200 {"occupied":false,"cache":null}',
    ],
    ['a question with a body', { ...get('a'), body: 'abc' }, '200 {"occupied":false}'],
    ['a trigger that is not JSON', post('{'), '400 The body is not valid JSON'],
    ['nothing to trigger', chunked('{}'), '400 channels: required'],
    [
      'an unsigned trigger',
      { method: 'POST', target: path, body: 'abc' },
      '401 Missing parameter: auth_key',
    ],
    [
      'an unsigned trigger in chunks',
      { method: 'POST', target: path, chunks: ['abc', 'def'] },
      '401 Missing parameter: auth_key',
    ],
    ['a path of nobody', { method: 'POST', target: '/nope', body: 'abc' }, '404 404 NOT FOUND'],
    [
      'an unknown path in chunks',
      { method: 'POST', target: '/nope', chunks: ['abc'] },
      '404 404 NOT FOUND',
    ],
    ['a wrong method', { method: 'PUT', target: path, body: 'abc' }, '405 405 METHOD'],
  ];

  it('are answered in order if all come in one packet', async () => {
    await using connection = await RawHttp.open(oneThread);
    connection.write(Buffer.concat(kinds.map(([, request]) => requestBytes(request))));
    for (const [, , expected] of kinds) {
      const { status, body } = await connection.read();
      expect(`${status} ${body}`).toStartWith(expected);
    }
    expect(connection.ended).toBe(false);
  });

  it('are answered in order, for each pair of kinds', async () => {
    for (const [, first, firstAnswer] of kinds) {
      for (const [, second, secondAnswer] of kinds) {
        await using connection = await RawHttp.open(oneThread);
        connection.write(Buffer.concat([requestBytes(first), requestBytes(second)]));
        for (const expected of [firstAnswer, secondAnswer]) {
          const { status, body } = await connection.read();
          expect(`${status} ${body}`).toStartWith(expected);
        }
      }
    }
  });

  it('are answered in order however their bytes are split', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...kinds), { minLength: 2, maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        async (requests, cuts) => {
          const bytes = Buffer.concat(requests.map(([, request]) => requestBytes(request)));
          const places = cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b);
          await using connection = await RawHttp.open(oneThread);
          let from = 0;
          for (const to of [...places, bytes.length]) {
            connection.write(bytes.subarray(from, to));
            from = to;
            // A round trip on another connection: the server has read what was written so far.
            await gets(oneThread, '/channels/a');
          }
          for (const [, , expected] of requests) {
            const { status, body } = await connection.read();
            expect(`${status} ${body}`).toStartWith(expected);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  it('are executed in order', async () => {
    await using client = await subscriber(oneThread, 'in-order');
    await using connection = await RawHttp.open(oneThread);
    const requests = Array.from({ length: 50 }, (_, at) => {
      const body = eventOf('in-order', `n${at}`);
      return requestBytes(at % 3 === 0 ? chunked(body) : post(body));
    });
    connection.write(Buffer.concat(requests));
    for (let at = 0; at < requests.length; at++) {
      expect(await connection.read()).toMatchObject({ status: 200 });
    }
    for (let at = 0; at < requests.length; at++) {
      expect(await client.receive()).toMatchObject({ event: `n${at}` });
    }
  });

  it('may follow a body of many packets', async () => {
    const body = JSON.stringify({ name: 'n', channel: 'a', data: 'd', pad: 'x'.repeat(900_000) });
    await using connection = await RawHttp.open(oneThread);
    for (const request of [post(body), chunked(body, 9000), chunked(body, 900_000)]) {
      connection.sendRequest(request);
      connection.sendRequest(get('a'));
      connection.sendRequest(request);
      expect(await connection.read()).toMatchObject({ status: 200, body: '{}' });
      expect(await connection.read()).toMatchObject({ body: '{"occupied":false}' });
      expect(await connection.read()).toMatchObject({ status: 200, body: '{}' });
    }
  });

  it('may have chunks of one byte, with extensions and sizes in capitals', async () => {
    const body = eventOf('a');
    const { target } = post(body);
    const bytes = Buffer.from(body);
    await using connection = await RawHttp.open(oneThread);
    connection.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`);
    connection.write(`A;name=value\r\n${bytes.subarray(0, 10)}\r\n`);
    for (const byte of bytes.subarray(10)) connection.write(chunkBytes(Uint8Array.of(byte)));
    connection.write('0\r\n\r\n');
    connection.sendRequest(get('a'));
    expect(await connection.read()).toMatchObject({ status: 200, body: '{}' });
    expect(await connection.read()).toMatchObject({ status: 200 });
  });
});

describe('an answer', () => {
  it('has a length and a type, and reveals nothing about the server', async () => {
    await using connection = await RawHttp.open(server);
    const answers = [
      await connection.request(get('a')),
      await connection.request(post(eventOf('a'))),
      await connection.request({ method: 'GET', target: '/nope' }),
    ];
    for (const { headers, body } of answers) {
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(body)));
      expect([...headers.keys()].sort()).toEqual(['content-length', 'content-type', 'date']);
    }
  });
});
