import { describe, expect, it } from 'bun:test';
import { type RawAnswer, RawHttp, type RawRequest } from '../../../../testing/clients/raw-http.ts';
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

describe('a body', () => {
  it('may come in pieces, in chunks, or after 100 Continue', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const headers = JSON_HEADERS;
    const bytesOf = async (answer: Promise<RawAnswer>) => JSON.parse((await answer).body).bytes;
    expect(await bytesOf(connection.request(publish(10_240)))).toBe(10_240);
    const chunks = ['a'.repeat(9000), 'b', 'c'.repeat(1239)];
    expect(
      await bytesOf(connection.request({ method: 'POST', target: INTERESTS, headers, chunks })),
    ).toBe(10_240);

    connection.write(
      `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect((await connection.read()).status).toBe(100);
    connection.write('a');
    connection.write('bc');
    expect(await bytesOf(connection.read())).toBe(3);
    const puzzled = { ...headers, expect: 'puzzle' };
    expect(
      await bytesOf(
        connection.request({ method: 'POST', target: INTERESTS, headers: puzzled, body: 'abc' }),
      ),
    ).toBe(3);
  });

  it('may be empty with any content type', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    for (const method of ['GET', 'DELETE', 'PUT', 'POST']) {
      const target =
        method === 'PUT' ? `${DEVICE}/user` : method === 'POST' ? `${DEVICE}/interests/a` : DEVICE;
      for (const framing of [{}, { body: '' }, { chunks: [] }]) {
        const answer = await connection.request({
          method,
          target,
          headers: JSON_HEADERS,
          ...framing,
        });
        expect(JSON.parse(answer.body)).toMatchObject({ method, bytes: 0 });
      }
    }
  });

  it('of many packets is complete', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    const body = 'x'.repeat(1_048_576);
    const answer = await connection.request({ method: 'PUT', target: `${DEVICE}/interests`, body });
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
      connection.request({ method: 'POST', target, headers: JSON_HEADERS, ...framing });
    expect((await ask({ body: 'x'.repeat(max) })).status).toBe(200);
    expect((await ask({ chunks: ['x'.repeat(max)] })).status).toBe(200);
    const expected = [400, title, `The body is larger than ${bound}`];
    // With a length: the connection stays open.
    expect(refused(await ask({ body: 'x'.repeat(max + 1) }))).toEqual(expected as never);
    expect((await ask({ body: 'x' })).status).toBe(200);
    // In chunks: the connection ends, since the number of chunks to come is unknown.
    const answer = await ask({ chunks: ['x'.repeat(max), 'x'] });
    expect(refused(answer)).toEqual(expected as never);
    expect(answer.headers.get('connection')).toBe('close');
    await connection.untilEnd();
  });

  it('is not waited for if the head is refused', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.write(`POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n`);
    expect(refused(await connection.read())[1]).toBe('Invalid content type');
    // The rest of the body is skipped.
    connection.write('x'.repeat(50_000));
    expect((await connection.request(publish(5))).status).toBe(200);
  });

  it('is not requested if the head is refused', async () => {
    await using server = await openListener();
    await using connection = await RawHttp.open(server);
    connection.write(
      `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
    );
    const answer = await connection.read();
    expect(refused(answer)[1]).toBe('Invalid content type');
    expect(answer.headers.get('connection')).toBe('close');
    await connection.untilEnd();
  });

  it.each([
    ['a length', (bytes: number) => `Content-Length: ${bytes}\r\n\r\n`],
    ['chunks', (bytes: number) => `Transfer-Encoding: chunked\r\n\r\n${bytes.toString(16)}\r\n`],
  ])(
    'that is far too large, with %s, does not keep its sender from reading the answer',
    async (_, framing) => {
      await using server = await openListener({ bounds: { lingerMs: 3000 } });
      await using connection = await RawHttp.open(server);
      connection.write(
        `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${framing(8_000_000)}`,
      );
      // Sent completely before the answer is read, as some clients do.
      connection.write('x'.repeat(8_000_000));
      const answer = await connection.read();
      expect(refused(answer)).toEqual([400, 'Bad request', 'The body is larger than 10 KiB']);
      expect(answer.headers.get('connection')).toBe('close');
      await connection.untilEnd();
    },
  );

  it('without an end is read for a limited time', async () => {
    await using server = await openListener({ bounds: { lingerMs: 60_000, lingerBytes: 100_000 } });
    await using connection = await RawHttp.open(server);
    connection.write(
      `POST ${INTERESTS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const sending = setInterval(() => connection.write(`2710\r\n${'x'.repeat(10_000)}\r\n`), 5);
    await connection.untilEnd();
    clearInterval(sending);
  });
});
