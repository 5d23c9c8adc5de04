import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../../testing/servers/push-server.ts';
import { gets } from './exchange.ts';

/** Bodies that are refused while they are on their way. Most clients read the answer only after they have sent all. */

const ADMIN_PASSWORD = 'correct horse';
const BODY_BYTES = 3_000_000;
const EVENTS = `/apps/${APP.id}/events`;
const signed = () => signedTarget('POST', EVENTS, { body: 'x'.repeat(BODY_BYTES) });

let server: Fanfare;
beforeAll(async () => {
  server = await startFanfare({
    config: {
      push: pushSettings(instanceSettings()),
      admin: { port: 0, password: ADMIN_PASSWORD },
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const sized = `Content-Length: ${BODY_BYTES}\r\n`;
const short = 'Content-Length: 900000\r\n';
const inChunks = 'Transfer-Encoding: chunked\r\n';
const closing = 'Connection: close\r\n';
const authorized = `Authorization: Bearer ${ADMIN_PASSWORD}\r\nContent-Type: application/json\r\n`;

type Listener = 'port' | 'pushPort' | 'adminPort';

const refused: readonly (readonly [
  what: string,
  status: number,
  listener: Listener,
  line: () => string,
  headers: string,
])[] = [
  ['too large', 413, 'port', () => `POST ${signed()}`, sized],
  ['too large, the last of its client', 413, 'port', () => `POST ${signed()}`, sized + closing],
  ['too large, in chunks', 413, 'port', () => `POST ${signed()}`, inChunks],
  ['of the last request, unsigned', 401, 'port', () => `POST ${EVENTS}`, short + closing],
  [
    'of an unsigned last request in chunks',
    401,
    'port',
    () => `POST ${EVENTS}`,
    inChunks + closing,
  ],
  ['to an unknown path', 404, 'port', () => 'POST /nope', sized + closing],
  ['with a wrong method', 405, 'port', () => `PUT ${EVENTS}`, sized + closing],
  ['for an unknown session', 404, 'port', () => 'POST /pusher/nope', sized + closing],
  ['to an unknown path of push', 404, 'pushPort', () => 'POST /nope', sized],
  ['of the last request to push', 404, 'pushPort', () => 'POST /nope', closing + sized],
  ['of a short last request to push', 404, 'pushPort', () => 'POST /nope', short + closing],
  ['too large for the admin API', 413, 'adminPort', () => 'POST /api/v1/apps', authorized + sized],
  ['to the admin API, without password', 401, 'adminPort', () => 'POST /api/v1/apps', sized],
];

describe('a body that is refused', () => {
  it.each(refused)(
    'is read after the answer, so that its client sees it: %s',
    async (_, status, listener, line, headers) => {
      await using connection = await RawHttp.open({ port: server[listener] });
      const length = Number(/Content-Length: (\d+)/.exec(headers)?.[1] ?? BODY_BYTES);
      const isChunked = headers.includes('chunked');
      connection.write(`${line()} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
      // Enough to be refused for its length.
      const begun = 1_500_000;
      if (isChunked) connection.write(`${length.toString(16)}\r\n`);
      if (length > begun) connection.write('x'.repeat(begun));

      const { status: answered, headers: given } = await connection.readHead();
      expect([answered, given.get('connection')]).toEqual([status, 'close']);
      await gets(server, '/channels/a');
      expect(connection.ended).toBe(false);
      connection.write('x'.repeat(length > begun ? length - begun : length));
      if (isChunked) connection.write('\r\n0\r\n\r\n');
      await connection.untilEnd();
    },
  );

  it.each([
    ['Channels', 'port', `POST ${EVENTS}`, closing],
    ['push', 'pushPort', 'POST /nope', ''],
    ['the admin API', 'adminPort', 'POST /api/v1/apps', ''],
  ] as const)('is not read without end: %s', async (_, listener, line, headers) => {
    await using connection = await RawHttp.open({ port: server[listener] });
    connection.write(`${line} HTTP/1.1\r\nHost: x\r\n${inChunks}${headers}\r\n`);
    const chunk = `f4240\r\n${'x'.repeat(1_000_000)}\r\n`;
    const sending = setInterval(() => connection.write(chunk), 5);
    await connection.untilEnd();
    clearInterval(sending);
  });
});
