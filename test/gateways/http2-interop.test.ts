import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { join } from 'node:path';
import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { ANSWER_BYTES_MAX, Http2Client } from '../../src/outgoing/http2/client.ts';
import { findLoopback } from '../../src/outgoing/http2/connecting/addresses.fixture.ts';
import { keptField, plainField } from '../../src/outgoing/http2/hpack/header-field.ts';
import { fieldOf, type Http2Result } from '../../src/outgoing/http2/request.ts';
import { JsonProcess } from '../compat/json-process.ts';

const certificate = makeSelfSigned(['localhost', '127.0.0.1'], Date.now());
const STREAMS_MAX = 20;

let server: JsonProcess<number>;
let port = 0;
beforeAll(async () => {
  const script = join(import.meta.dir, 'http2-server.mjs');
  server = new JsonProcess('node', script, { ...certificate, streamsMax: STREAMS_MAX });
  port = await server.printed.next();
});
afterAll(() => server[Symbol.dispose]());

function originOf(options: { readonly requestTimeoutMs?: number } = {}): Http2Client {
  return new Http2Client({
    origin: `https://127.0.0.1:${port}`,
    ca: certificate.cert,
    findAddresses: findLoopback,
    connectionsMax: 2,
    streamsPerConnectionMax: 100,
    waitingMax: 10_000,
    requestTimeoutMs: 10_000,
    ...options,
  });
}

const post = (origin: Http2Client, path: string, body = Buffer.from('body')) =>
  origin.send({ path, fields: [], body });

function answered(result: Http2Result) {
  if (result.result !== 'answered') throw new Error(`${result.why} ${result.detail}`);
  return result;
}

describe("our HTTP/2 client and Node's server agree", () => {
  it('on header fields of all characters, kept and not', async () => {
    await using origin = originOf();
    const all = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))
      .join('')
      .trim();
    for (let round = 0; round < 60; round++) {
      const value = all.slice(round) + 'x'.repeat(round * 3);
      const make = round % 3 === 0 ? plainField : keptField;
      const fields = [make('authorization', value), keptField('x-other', 'y'.repeat(round))];
      const body = Buffer.alloc(round * 100, 'z');
      const answer = answered(await origin.send({ path: '/', fields, body }));
      expect(answer.status).toBe(200);
      expect(fieldOf(answer.fields, 'echo')).toBe(value);
      expect(fieldOf(answer.fields, 'x-bytes')).toBe(String(body.length));
      expect(answer.body.toString()).toBe('body');
    }
  });

  it('on the limit of concurrent requests', async () => {
    await using origin = originOf();
    const all = await Promise.all(Array.from({ length: 2000 }, () => post(origin, '/')));
    for (const result of all) {
      const most = Number(fieldOf(answered(result).fields, 'x-most'));
      expect(most).toBeLessThanOrEqual(STREAMS_MAX * 2);
    }
  });

  it('on bodies larger than the window', async () => {
    await using origin = originOf();
    const bodies = Array.from({ length: 10 }, () => post(origin, '/', Buffer.alloc(300_000, 'x')));
    for (const result of await Promise.all(bodies)) {
      expect(fieldOf(answered(result).fields, 'x-bytes')).toBe('300000');
    }
    for (let round = 0; round < 20; round++) {
      const large = answered(await post(origin, '/large'));
      expect([large.status, large.body.length]).toEqual([500, ANSWER_BYTES_MAX]);
    }
  });

  it('on refused requests and GOAWAY', async () => {
    await using origin = originOf();
    const paths = ['/', '/', '/refuse-once', '/', '/goodbye', '/', '/'];
    for (const result of await Promise.all(paths.map((path) => post(origin, path)))) {
      expect(answered(result).status).toBe(200);
    }
  });

  it('on requests without an answer', async () => {
    await using origin = originOf({ requestTimeoutMs: 500 });
    expect(await post(origin, '/hang')).toMatchObject({ result: 'unknown', why: 'silence' });
    expect(await post(origin, '/cut')).toMatchObject({ result: 'unknown' });
    expect(answered(await post(origin, '/')).status).toBe(200);
  });
});
