import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../../testing/any-character.ts';
import { RawHttp, requestBytes } from '../../../../testing/clients/raw-http.ts';
import { runs, testSeed } from '../../../../testing/long-run.ts';
import { type ListenerUnderTest, openListener } from './open-listener.ts';

fc.configureGlobal({ seed: testSeed() });

const ID = '0b8e7c9c-66a1-4a0e-a1f6-1f2d3c4b5a69';
const JSON_HEADERS = { 'content-type': 'application/json' };

/** Requests of each kind. */
const RUNS = runs(250, 1000);

let server: ListenerUnderTest;
beforeAll(async () => {
  // Low limits: if a few requests left something behind, all others would be refused.
  server = await openListener({
    bounds: { requests: 5, heldBytes: 100_000, lingerMs: 50 },
    endpoints: {
      publishToUsers: {
        async answer() {
          await new Promise((resolve) => setImmediate(resolve));
          return { json: '{}' };
        },
      },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Few different statuses would mean that the requests tested little. */
const seen = new Set<string>();

/** Sends bytes and the end of the stream, and reads to the end, which must be complete answers. */
async function answers(bytes: Uint8Array): Promise<void> {
  await using connection = await RawHttp.open(server);
  connection.write(bytes);
  connection.endWriting();
  for (;;) {
    const answer = await connection.readOrEnd();
    if (answer === undefined) return;
    seen.add(String(answer.status));
    if (answer.status < 400) continue;
    expect(answer.status).not.toBe(500);
    expect(answer.headers.get('content-type')).toBe('application/json');
    const { error, description } = JSON.parse(answer.body);
    expect([typeof error, typeof description]).toEqual(['string', 'string']);
    expect(error && description).not.toBe('');
  }
}

const paths = [
  `/publish_api/v1/instances/${ID}/publishes/interests`,
  `/publish_api/v1/instances/${ID}/publishes/users`,
  `/publish_api/v1/instances//publishes`,
  `/user_api/v1/instances/${ID}/users/a%20/b`,
  `/device_api/v1/instances/${ID}/devices/web`,
  `/device_api/v1/instances/${ID}/devices/web/web-1/interests/%zz`,
  '/sdk/service-worker.js',
  '/nowhere',
];

// No HEAD: answers without a body could not be distinguished from answers with one.
const methods = fc.constantFrom(
  'GET',
  'POST',
  'POST',
  'PUT',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'PRI',
  'x',
);
const targets = fc.constantFrom(
  '/',
  '//',
  '/..',
  '/%',
  '*',
  '?',
  'http://x',
  'http://x/a?b',
  ...paths,
  ...paths,
);
const headers = fc.constantFrom(
  ...[
    'Host: x\r\n',
    'Host: x\r\n',
    'Host:\r\n',
    'Connection: close\r\n',
    'Expect: 100-continue\r\n',
  ],
  ...['Content-Type: application/json\r\n', 'Content-Type: application/json\r\n'],
  ...['Content-Length: 3\r\n', 'Content-Length: -1\r\n', 'Content-Length: 20000\r\n'],
  ...['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x\r\n', 'Expect: x\r\n'],
  ...['Upgrade: websocket\r\nConnection: Upgrade\r\n', `X: ${'x'.repeat(20_000)}\r\n`],
);
const noise = fc.oneof(
  fc.constantFrom(' ', '\r\n', '\n', '\0', ':', '\r\n\r\n', '3\r\nabc\r\n', '0\r\n\r\n', 'abc'),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);

/** A request of valid parts that may not fit each other. */
const ordered = fc
  .tuple(
    fc.tuple(methods, targets, fc.constantFrom('1.1', '1.1', '1.1', '1.0', '2.0')),
    fc.array(headers, { maxLength: 5 }),
    fc.array(noise, { maxLength: 2 }),
  )
  .map(([[method, target, version], lines, rest]) => {
    return `${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n${rest.join('')}`;
  });

/** The same parts in any order. */
const disordered = fc
  .array(fc.oneof(methods, targets, headers, noise, fc.constant(' HTTP/1.1\r\n')), {
    maxLength: 20,
  })
  .map((parts) => parts.join(''));

/** Some valid requests, one after the other. */
const good = Buffer.concat([
  requestBytes({ method: 'POST', target: paths[0] ?? '', headers: JSON_HEADERS, body: '{"a":1}' }),
  requestBytes({
    method: 'POST',
    target: paths[1] ?? '',
    headers: JSON_HEADERS,
    chunks: ['ab', 'c'],
  }),
  requestBytes({ method: 'GET', target: '/sdk/service-worker.js' }),
  requestBytes({
    method: 'POST',
    target: paths[0] ?? '',
    headers: { ...JSON_HEADERS, expect: '100-continue' },
    body: 'abc',
  }),
  requestBytes({ method: 'PATCH', target: paths[4] ?? '', body: 'abc' }),
]);

describe('every answer is complete and every error is JSON, for', () => {
  it('random bytes', async () => {
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 500 }), answers), {
      numRuns: RUNS,
    });
  });

  it('requests of random parts', async () => {
    const requests = fc
      .array(fc.oneof({ arbitrary: ordered, weight: 3 }, disordered), {
        minLength: 1,
        maxLength: 4,
      })
      .map((parts) => Buffer.from(parts.join('')));
    await fc.assert(fc.asyncProperty(requests, answers), { numRuns: RUNS });
  });

  it('random paths', async () => {
    const anyPath = fc
      .array(fc.oneof(fc.constantFrom('publish_api', 'v1', 'instances', ''), fc.webSegment()))
      .map((steps) => `/${steps.join('/')}`);
    await fc.assert(
      fc.asyncProperty(methods, anyPath, fc.uint8Array(), async (method, target, body) => {
        await answers(requestBytes({ method, target, body, headers: JSON_HEADERS }));
      }),
      { numRuns: RUNS },
    );
  });

  it('valid requests with a few changed bytes', async () => {
    const edits = fc.array(
      fc.record({
        at: fc.nat({ max: good.length - 1 }),
        drop: fc.nat({ max: 3 }),
        put: fc.uint8Array({ maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 3 },
    );
    await fc.assert(
      fc.asyncProperty(edits, async (changes) => {
        let bytes: Buffer = good;
        for (const { at, drop, put } of changes) {
          bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + drop)]);
        }
        await answers(bytes);
      }),
      { numRuns: RUNS },
    );
  });

  it('connections that are cut off anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: good.length }), fc.boolean(), async (length, waits) => {
        await using connection = await RawHttp.open(server);
        connection.write(good.subarray(0, length));
        // The server has read everything by then; without this wait it often has not.
        if (waits) await answers(good);
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it('and nothing of it is left behind', async () => {
    expect(server.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect([...seen]).toEqual(expect.arrayContaining(['200', '400', '404', '405']));
    await using connection = await RawHttp.open(server);
    // The last of them may take a moment to end.
    const ask = () => connection.request({ method: 'GET', target: '/sdk/service-worker.js' });
    while ((await ask()).status !== 200);
    const body = 'x'.repeat(99_000);
    const large = { method: 'POST', target: paths[1] ?? '', headers: JSON_HEADERS, body };
    expect((await connection.request(large)).status).toBe(200);
  });
});
