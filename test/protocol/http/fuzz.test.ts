import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { RawClient } from '../../../testing/clients/raw-client.ts';
import { RawHttp, requestBytes } from '../../../testing/clients/raw-http.ts';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { runs, testSeed } from '../../../testing/long-run.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { loggedProblems } from '../../../testing/servers/logged-problems.ts';
import { triggers } from './exchange.ts';

let server: Fanfare;
let descriptorsAtRest = 0;
beforeAll(async () => {
  server = await startFanfare({ onlyOne: 'pipelining' });
  descriptorsAtRest = descriptors();
});
afterAll(() => server[Symbol.asyncDispose]());

/** Requests of each kind. */
const RUNS = runs(500, 2000);
// The same requests each time, so that the same statuses are seen.
fc.configureGlobal({ seed: testSeed() });

/** The number of open files of the server. */
function descriptors(): number {
  return readdirSync(`/proc/${server.process.pid}/fd`).length;
}

/** The statuses of all answers. Few different ones would mean that the requests tested little. */
const statusesSeen = new Set<string>();

/**
 * Sends bytes, ends its side of the connection, and waits for the end: the server must answer or close. Its
 * parser, which is Bun's, answers 505 where a request line does not end in a version it knows; nothing
 * else above 499 is ever right.
 */
async function survives(bytes: Uint8Array): Promise<void> {
  await using connection = await RawHttp.open(server);
  connection.write(bytes);
  connection.endWriting();
  const answers = await connection.readToEnd();
  for (const [, status = ''] of answers.matchAll(/HTTP\/1\.1 (\d+)/g)) {
    statusesSeen.add(status);
    if (status !== '505') expect(Number(status)).toBeLessThan(500);
  }
}

const paths = ['/events', '/batch_events', '/channels', '/channels/a', '/channels/a/events'].map(
  (path) => `/apps/${APP.id}${path}`,
);

const methods = fc.constantFrom('GET', 'GET', 'POST', 'POST', 'HEAD', 'PUT', 'CONNECT', 'PRI', '*');
const targets = fc.constantFrom(
  ...['/', '//', '/..', '/%', '*', '?', 'http://x', `/app/${APP.key}?protocol=7`],
  ...paths,
  ...paths.map((path) => signedTarget('GET', path)),
);
const HANDSHAKE =
  'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const headers = fc.constantFrom(
  ...[
    'Host: x\r\n',
    'Host: x\r\n',
    'Host:\r\n',
    'Connection: close\r\n',
    'Expect: 100-continue\r\n',
  ],
  ...['Content-Length: 3\r\n', 'Content-Length: -1\r\n', 'Content-Length: 99999999\r\n'],
  ...['Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x\r\n', HANDSHAKE],
  ...['Upgrade: websocket\r\n', `X: ${'x'.repeat(20_000)}\r\n`],
);
const noise = fc.oneof(
  fc.constantFrom(
    ' ',
    '\t',
    '\r\n',
    '\n',
    '\0',
    ':',
    '\r\n\r\n',
    '3\r\nabc\r\n',
    '0\r\n\r\n',
    'abc',
  ),
  fc.string({ unit: anyCharacter, maxLength: 20 }),
);

/** A request of valid parts that may not fit each other. */
const ordered = fc
  .tuple(
    fc.tuple(methods, targets, fc.constantFrom('1.1', '1.1', '1.1', '1.0', '2.0')),
    fc.array(headers, { maxLength: 4 }),
    fc.array(noise, { maxLength: 2 }),
  )
  .map(([start, lines, rest]) => {
    const [method, target, version] = start;
    return `${method} ${target} HTTP/${version}\r\n${lines.join('')}\r\n${rest.join('')}`;
  });

/** The same parts in any order. */
const disordered = fc
  .array(fc.oneof(methods, targets, headers, noise, fc.constant(' HTTP/1.1\r\n')), {
    maxLength: 20,
  })
  .map((parts) => parts.join(''));

describe('the server keeps running, and answers or closes, after', () => {
  it('random bytes', async () => {
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 500 }), survives), {
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
    await fc.assert(fc.asyncProperty(requests, survives), { numRuns: RUNS });
  });

  it('random headers and bodies after a valid request line', async () => {
    const heads = fc.array(
      fc.tuple(
        fc.oneof(fc.constantFrom('Content-Length', 'Transfer-Encoding', 'Host', 'X'), fc.string()),
        fc.oneof(fc.constantFrom('chunked', '5', '0', 'close'), fc.string({ unit: anyCharacter })),
      ),
      { maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PUT', 'HEAD'),
        fc.constantFrom(...paths),
        heads,
        fc.uint8Array(),
        async (method, path, headers, body) => {
          const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
          const head = `${method} ${path} HTTP/1.1\r\n${lines}\r\n`;
          await survives(Buffer.concat([Buffer.from(head), body]));
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('valid requests with a few changed bytes', async () => {
    const body = '{"name":"n","channel":"cache-fuzz","data":"d"}';
    const target = signedTarget('POST', `/apps/${APP.id}/events`, { body });
    const good = Buffer.concat([
      requestBytes({ method: 'POST', target, body }),
      requestBytes({ method: 'POST', target, chunks: [body.slice(0, 9), body.slice(9)] }),
      requestBytes({ method: 'GET', target: signedTarget('GET', `/apps/${APP.id}/channels`) }),
    ]);
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
        await survives(bytes);
      }),
      { numRuns: RUNS },
    );
  });

  it('connections that are cut off anywhere', async () => {
    const body = JSON.stringify({ name: 'n', channel: 'a', data: 'd', pad: 'x'.repeat(2000) });
    const target = signedTarget('POST', `/apps/${APP.id}/events`, { body });
    const requests = Buffer.concat([
      requestBytes({ method: 'POST', target, body }),
      requestBytes({ method: 'POST', target, chunks: [body.slice(0, 999), body.slice(999)] }),
    ]);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: requests.length }), fc.boolean(), async (length, read) => {
        await using connection = await RawHttp.open(server);
        connection.write(requests.subarray(0, length));
        // The server has read everything by then; without this wait it often has not.
        if (read) await triggers(server, { name: 'n', channel: 'a', data: 'd' });
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it('random signed JSON and bytes', async () => {
    const anything = fc.jsonValue({ maxDepth: 3 });
    const events = fc.record(
      {
        name: fc.oneof(fc.constantFrom('n', 'pusher:x'), fc.string(), anything),
        data: fc.oneof(fc.string({ unit: anyCharacter }), anything),
        channel: fc.oneof(fc.constantFrom('a', 'cache-a', 'presence-a'), fc.string(), anything),
        channels: fc.oneof(fc.array(fc.constantFrom('a', 'b', 'cache-a')), anything),
        socket_id: fc.oneof(fc.constantFrom('1.1', null), anything),
        info: fc.oneof(fc.constantFrom('user_count', 'x', ''), anything),
      },
      { requiredKeys: [] },
    );
    const bodies = fc.oneof(
      fc
        .oneof(events, anything, fc.record({ batch: fc.oneof(fc.array(events), anything) }))
        .map((value) => Buffer.from(JSON.stringify(value))),
      fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    );
    const queries = fc.dictionary(
      fc.oneof(
        fc.constantFrom('name', 'data', 'channel', 'channels[]'),
        fc.stringMatching(/^[a-z_]+$/),
      ),
      fc.string({ unit: anyCharacter }),
    );
    await using connection = await RawHttp.open(server);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('/events', '/batch_events', '/channels/a/events'),
        bodies,
        queries,
        async (path, body, query) => {
          const target = signedTarget('POST', `/apps/${APP.id}${path}`, { body, query });
          const { status } = await connection.request({ method: 'POST', target, body });
          expect([200, 202, 400, 413]).toContain(status);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('random signed queries', async () => {
    const channels = fc.oneof(
      fc.constantFrom('a', 'presence-a', 'cache-a'),
      fc.string({ unit: anyCharacter }),
    );
    const queries = fc.record(
      {
        info: fc.oneof(fc.constantFrom('user_count', 'cache', 'user_count,cache'), fc.string()),
        filter_by_prefix: fc.oneof(
          fc.constantFrom('presence-', ''),
          fc.string({ unit: anyCharacter }),
        ),
      },
      { requiredKeys: [] },
    );
    await using connection = await RawHttp.open(server);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('', '/users', '/stats'),
        channels,
        queries,
        async (end, channel, query) => {
          const named =
            channel === '' || /^\.+$/.test(channel) ? '' : `/${encodeURIComponent(channel)}${end}`;
          const target = signedTarget('GET', `/apps/${APP.id}/channels${named}`, { query });
          const { status } = await connection.request({ method: 'GET', target });
          expect([200, 400]).toContain(status);
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('and still delivers, has logged no error and holds no connection', async () => {
    await using client = await RawClient.connect(server);
    await client.subscribe('after-all');
    await triggers(server, { name: 'n', channel: 'after-all', data: 'd' });
    expect(await client.receive()).toMatchObject({ event: 'n' });
    expect(loggedProblems(server)).toEqual([]);
    expect([...statusesSeen]).toEqual(
      expect.arrayContaining([
        '100',
        '101',
        '200',
        '400',
        '401',
        '404',
        '405',
        '426',
        '431',
        '505',
      ]),
    );

    // This connection, and a few that Bun's HTTP client keeps open. The others may take a moment to end.
    const most = descriptorsAtRest + 10;
    const deadline = Date.now() + 4000;
    while (descriptors() > most && Date.now() < deadline) await client.receiveNothing();
    expect(descriptors()).toBeLessThanOrEqual(most);
  });
});
