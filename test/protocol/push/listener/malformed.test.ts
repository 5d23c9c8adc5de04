import { describe, expect, it } from 'bun:test';
import type { PushAnswer } from '../../../../src/transports/push-api/call.ts';
import { RawHttp, requestBytes } from '../../../../testing/clients/raw-http.ts';
import { openListener } from './open-listener.ts';
import {
  DEVICE,
  INTERESTS,
  publish,
  refused,
  refusedBytes,
  until,
} from './requests-and-refusals.ts';

describe('invalid HTTP is refused like any other request:', () => {
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
    expect([...server.counted]).toEqual([['400', 1]]);
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
    expect(server.counted.get('431')).toBe(3);
  });

  it('half a request whose sender has gone', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.write('GET / HTTP/1.1\r\nHo');
    connection.endWriting();
    expect(refused(await connection.read())).toEqual([
      400,
      'Bad request',
      'The request is incomplete',
    ]);
    await connection.untilEnd();
  });

  it('after the answers to those before it', async () => {
    const gate = Promise.withResolvers<PushAnswer>();
    await using server = await openListener({
      endpoints: { publishToInterests: { answer: () => gate.promise } },
    });
    await using connection = await RawHttp.open(server);
    connection.sendRequest(publish(5));
    connection.sendRequest(publish(5));
    connection.write('GARBAGE\r\n\r\n');
    await until(() => server.underWay() === 1);
    gate.resolve({ json: '{}' });
    expect((await connection.read()).status).toBe(200);
    expect((await connection.read()).status).toBe(200);
    expect(refused(await connection.read())[0]).toBe(400);
    await connection.untilEnd();
  });

  it('also in one packet with them', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const twice = [publish(5), publish(5)].map(requestBytes);
    connection.write(Buffer.concat([...twice, Buffer.from('GARBAGE\r\n\r\n')]));
    expect((await connection.read()).status).toBe(200);
    expect((await connection.read()).status).toBe(200);
    expect(refused(await connection.read())[0]).toBe(400);
    await connection.untilEnd();
  });

  it('and pages of other sites may read why for paths that allow it', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.write(`GET ${DEVICE} HTTP/1.1\r\nHost: x\r\na b: c\r\n\r\n`);
    const answer = await connection.read();
    expect(refused(answer)[0]).toBe(400);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });
});

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
    connection.write(start);
    const dripping = setInterval(() => drop !== undefined && connection.write(drop), 20);
    const answer = await connection.read();
    clearInterval(dripping);
    expect(refused(answer)).toEqual([
      408,
      'Request Timeout',
      'The request was not complete in time',
    ]);
    await connection.untilEnd();
  });

  it('is closed without a second answer if it was answered early', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.write('POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc');
    expect(refused(await connection.read())[0]).toBe(404);
    expect(await connection.readToEnd()).toBe('');
  });

  it('is measured from its own first byte, not from the first byte of the connection', async () => {
    await using server = await openListener({ bounds: { idleMs: 60_000 } });
    await using connection = await RawHttp.open(server);
    expect((await connection.request(publish(5))).status).toBe(200);
    connection.write('GET / HTTP/1.1\r\nHo');
    expect(refused(await connection.read())[0]).toBe(408);
    await connection.untilEnd();
  });
});

it('lets an endpoint take its time', async () => {
  const gate = Promise.withResolvers<PushAnswer>();
  await using server = await openListener({
    bounds: { idleMs: 100 },
    endpoints: { readDevice: { answer: () => gate.promise } },
  });
  await using connection = await RawHttp.open(server);
  connection.sendRequest({ method: 'GET', target: DEVICE });
  // When this one times out, the other one has been in flight for longer.
  await using late = await RawHttp.open(server);
  late.write(`POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`);
  late.write('Content-Length: 10\r\n\r\nabc');
  expect((await late.read()).status).toBe(408);
  gate.resolve({ json: '{}' });
  expect((await connection.read()).status).toBe(200);
});

it('closes an idle connection after a while', async () => {
  await using server = await openListener({ bounds: { idleMs: 100 } });
  await using connection = await RawHttp.open(server);
  expect((await connection.request(publish(5))).status).toBe(200);
  expect(await connection.readToEnd()).toBe('');
});
