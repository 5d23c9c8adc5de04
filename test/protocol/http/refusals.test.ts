import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { METHODS } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { pathOf } from '../../../testing/clients/raw-client.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { api, signedTarget } from '../../../testing/clients/sign.ts';
import { type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { loggedProblems } from '../../../testing/servers/logged-problems.ts';
import {
  batches,
  EMPTY,
  gets,
  json,
  posts,
  refused,
  seen,
  subscriber,
  TEXT_TYPE,
  triggers,
} from './exchange.ts';

const BODY_ENDPOINTS = ['/events', '/batch_events'];

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    channels: { healthChecks: false },
    moreApps: [{ id: '5', enabled: false, keys: [{ key: 'disabled-key', secret: 'secret' }] }],
  });
});
afterAll(() => server[Symbol.asyncDispose]());

describe('a disabled app', () => {
  const call = { key: 'disabled-key', secret: 'secret' };

  it('gets 403 at every endpoint', async () => {
    for (const path of ['/events', '/batch_events', '/channels/a/events']) {
      const answer = await api(server, 'POST', `/apps/5${path}`, { ...call, body: '{}' });
      expect(await seen(answer)).toEqual(refused(403, 'The app is disabled'));
    }
    for (const path of ['', '/a', '/presence-a/users', '/a/stats']) {
      const answer = await api(server, 'GET', `/apps/5/channels${path}`, call);
      expect(await seen(answer)).toEqual(refused(403, 'The app is disabled'));
    }
  });

  it('is revealed as disabled to its own backend only', async () => {
    const answer = await api(server, 'GET', '/apps/5/channels', { ...call, secret: 'x' });
    expect(await seen(answer)).toEqual(refused(401, expect.stringContaining('Invalid signature')));
  });
});

describe('a path that does not exist', () => {
  it.each([
    '/',
    '/apps',
    '/healthz',
    '/readyz',
    '/apps/3',
    '/apps/3/',
    '/apps/3/nope',
    '/apps/3/events/',
    '/apps/3/events/x',
    '/apps/3/channels/',
    '/apps/3/channels/a/',
    '/apps/3/channels/a/nope',
    '/apps/3/channels//users',
    '/apps/3/channels/a/users/',
    '/apps/3/channels/a/users/b/c',
    '/apps//channels',
    '//apps/3/channels',
    '/x/apps/3/channels',
    '/APPS/3/channels',
    '/apps/3/Channels',
    '/apps/3/__proto__',
    '/__proto__/3/channels',
  ])('is answered with 404: %s', async (path) => {
    await using connection = await RawHttp.open(server);
    for (const method of ['GET', 'POST', 'DELETE']) {
      const answer = await connection.request({ method, target: path });
      expect(answer).toMatchObject({ status: 404, body: '404 NOT FOUND\n' });
      expect(answer.headers.get('content-type')).toBe(TEXT_TYPE);
    }
  });

  it('of WebSockets is answered with 426 without an upgrade', async () => {
    await using connection = await RawHttp.open(server);
    const answer = await connection.request({ method: 'GET', target: pathOf() });
    expect(answer.status).toBe(426);
    expect(answer.headers.get('upgrade')).toBe('websocket');
    expect(answer.headers.get('content-type')).toBe(TEXT_TYPE);
  });
});

describe('a wrong method for a path', () => {
  const getPaths = ['/channels', '/channels/a', '/channels/presence-a/users', '/channels/a/stats'];
  const postPaths = ['/events', '/batch_events', '/channels/a/events'];
  const others = METHODS.filter((method) => !['GET', 'POST', 'HEAD'].includes(method));
  const cases = [
    ...getPaths.map((path) => [path, 'GET, HEAD', ['POST', ...others]] as const),
    ...postPaths.map((path) => [path, 'POST', ['GET', 'HEAD', ...others]] as const),
  ];
  it.each(cases)(
    'is answered with 405 and the right ones in Allow: %s %s',
    async (path, allow, methods) => {
      await using connection = await RawHttp.open(server);
      for (const method of methods) {
        // Signed or not: the answer is the same for everyone.
        for (const target of [`/apps/3${path}`, signedTarget(method, `/apps/3${path}`)]) {
          const answer = await connection.request({ method, target });
          const body = method === 'HEAD' ? '' : expect.stringContaining(allow);
          expect(answer).toMatchObject({ status: 405, body });
          expect(answer.headers.get('allow')).toBe(allow);
          expect(answer.headers.get('content-type')).toBe(TEXT_TYPE);
        }
      }
    },
  );
});

describe('a compressed body', () => {
  const json = '{"name":"n","channel":"a","data":"d"}';
  const sends = async (body: string | Uint8Array, encoding: string, signed = body) => {
    const path = '/apps/3/events';
    const target = signedTarget('POST', path, { body: signed });
    const headers = { 'content-encoding': encoding };
    const url = `http://127.0.0.1:${server.port}${target}`;
    const answer = await fetch(url, { method: 'POST', body, headers });
    return { ...(await seen(answer)), accepts: answer.headers.get('accept-encoding') };
  };

  it.each<readonly [encoding: string, body: Uint8Array]>([
    ['gzip', gzipSync(json)],
    ['GZIP', gzipSync(json)],
    ['x-gzip', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['br', brotliCompressSync(json)],
    ['zstd', zstdCompressSync(json)],
  ])('is refused with 415 and its Content-Encoding: %s', async (encoding, body) => {
    const answer = {
      ...refused(
        415,
        `The body has Content-Encoding: ${encoding.toLowerCase()}, which this server does not decode; send it uncompressed`,
      ),
      accepts: 'identity',
    };
    expect(await sends(body, encoding)).toEqual(answer);
    // Signed before it was compressed.
    expect(await sends(body, encoding, json)).toEqual(answer);
  });

  it('is none with another Content-Encoding', async () => {
    for (const encoding of ['identity', 'utf-8']) {
      expect(await sends(json, encoding)).toEqual({ ...EMPTY, accepts: null });
      expect(await sends('{', encoding)).toMatchObject({ status: 400 });
    }
  });
});

describe('an unknown method', () => {
  // Bun's parser does this; nothing in its options changes it.
  it.each(['FOO', 'get', 'Post', 'GETT', 'PRI'])(
    'ends its connection and no other: %s',
    async (method) => {
      await using neighbour = await RawHttp.open(server);
      await using connection = await RawHttp.open(server);
      connection.sendRequest({ method, target: '/apps/3/channels' });
      expect(await connection.readToEnd()).toBe('');
      const { status } = await neighbour.request({ method: 'GET', target: '/apps/3/channels' });
      expect(status).toBe(401);
    },
  );
});

describe('a body', () => {
  it.each(BODY_ENDPOINTS)('that is not JSON is refused with 400: POST %s', async (path) => {
    const texts = [
      '{',
      '}',
      '{"name":"n",}',
      "{'name':'n'}",
      'name=n',
      '{"a":1}{"b":2}',
      '{"a":NaN}',
      '\ufeff{}',
      '{"a":"\n"}',
      '{"a":01}',
      '\u0000',
      '[',
      '"',
    ];
    for (const text of texts) {
      expect(await posts(server, path, text)).toEqual(
        refused(400, expect.stringMatching(/^The body is not valid JSON: ./)),
      );
    }
  });

  it.each(BODY_ENDPOINTS)('that is no JSON object is refused with 400: POST %s', async (path) => {
    for (const text of ['[]', '[{"name":"n"}]', 'null', 'true', '1', '"{}"', ' [ ] ']) {
      expect(await posts(server, path, text)).toEqual(
        refused(400, 'The body must be a JSON object'),
      );
    }
  });

  it.each(BODY_ENDPOINTS)('that is not UTF-8 is refused with 400: POST %s', async (path) => {
    const good = '{"name":"n","channel":"a","data":"_"}';
    for (const bytes of [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const [before = '', after = ''] = good.split('_');
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
      expect(await posts(server, path, body)).toEqual(refused(400, 'The body is not valid UTF-8'));
    }
    const utf16 = Buffer.from(`\ufeff${good}`, 'utf16le');
    expect(await posts(server, path, utf16)).toEqual(refused(400, 'The body is not valid UTF-8'));
  });

  it('may have white space around it', async () => {
    const event = '{"name":"n","channel":"a","data":"d"}';
    expect(await triggers(server, ` \r\n\t${event}\n `)).toEqual(EMPTY);
  });

  it.each([1000, 100_000, 250_000])(
    'of %d levels is answered, and the server survives',
    async (depth) => {
      const nested = [
        '['.repeat(depth) + ']'.repeat(depth),
        `${'{"a":'.repeat(depth / 2)}1${'}'.repeat(depth / 2)}`,
      ];
      for (const deep of nested) {
        expect(await triggers(server, deep)).toMatchObject({ status: 400 });
        expect(await triggers(server, deep.slice(0, -1))).toMatchObject({ status: 400 });
        const event = (data: string) => `{"name":"n","channel":"a","data":${data}}`;
        expect(await triggers(server, event(deep))).toMatchObject({
          status: deep.length > 10_240 ? 413 : 200,
        });
        expect(await triggers(server, `{"channels":${deep},"name":"n","data":"d"}`)).toMatchObject({
          status: 400,
        });
        expect(await triggers(server, `{"x":${deep},${event('"d"').slice(1)}`)).toEqual(EMPTY);
        expect(await posts(server, '/batch_events', `{"batch":${deep}}`)).toMatchObject({
          status: 400,
        });
      }
      expect(server.process.exitCode).toBeNull();
    },
  );
});

describe('the name of a property of every object', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype'];

  it('is a key without meaning', async () => {
    for (const name of names) {
      const event = `{"${name}":{"name":"x","channel":"y","data":"z"},"name":"n","channel":"a","data":"d"}`;
      expect(await triggers(server, event)).toEqual(EMPTY);
      expect(await triggers(server, `{"${name}":{"name":"n","channel":"a","data":"d"}}`)).toEqual(
        refused(400, 'channels: required, or channel'),
      );
      expect(await posts(server, '/batch_events', `{"${name}":{"batch":[]}}`)).toEqual(
        refused(400, 'batch: required'),
      );
      expect(await gets(server, '/channels/a', { [name.toLowerCase()]: 'x' })).toEqual(
        json('{"occupied":false}'),
      );
    }
  });

  it('is the name of a channel and of an event', async () => {
    await using client = await subscriber(server, ...names);
    for (const name of names) {
      expect(await triggers(server, { name, channels: [name], data: name })).toEqual(EMPTY);
      expect(await batches(server, [{ name, channel: name, data: name }])).toEqual(EMPTY);
      for (const _ of ['trigger', 'batch']) {
        expect(await client.receive()).toEqual({ event: name, channel: name, data: name });
      }
      expect(await gets(server, `/channels/${name}`)).toEqual(json('{"occupied":true}'));
    }
    await client.receiveNothing();
  });

  it('changes nothing for others', async () => {
    for (const name of names) {
      await triggers(server, `{"${name}":{"info":"user_count","socket_id":"1.1"},"name":"n"}`);
    }
    expect(await triggers(server, { name: 'n', channel: 'a', data: 'd' })).toEqual(EMPTY);
  });
});

it('none of these requests logs an error', () => {
  expect(loggedProblems(server)).toEqual([]);
});
