import { expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { RawHttp } from '../../testing/clients/raw-http.ts';
import { signedTarget } from '../../testing/clients/sign.ts';
import { untrusted } from '../../testing/servers/certificates.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';

/** Longest time a request may take. */
const ENDED_MAX_MS = 120_000;
const DRIP_MS = 500;
/** Far below the time of a request, and above `httpIdleSeconds` of a server and the runtime's steps of 4 s. */
const SHORT_IDLE_MAX_MS = 60_000;

const BODY = JSON.stringify({ name: 'e', channel: 'news', data: 'x'.repeat(1000) });
const TARGET = signedTarget('POST', `/apps/${APP.id}/events`, { body: BODY });
const HEAD = `POST ${TARGET} HTTP/1.1\r\nHost: x\r\n`;
const SIZED = `${HEAD}Content-Length: ${BODY.length}\r\n\r\n`;
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

/** Answered at once: by the first line of a session over HTTP, or by the line that closes it. */
const receive = (key: string, end: string) =>
  `POST /pusher/app/${key}/1/${crypto.randomUUID()}/${end}?protocol=7&n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;

/** Longer than the time of a request. */
const PING_AFTER_SECONDS = 36;

/** Sends `start`, and then one drop after the other; returns the milliseconds until the server ended it. */
async function endsAfter(port: number, start: string | Uint8Array, drop = ''): Promise<number> {
  const began = performance.now();
  const ended = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: () => undefined,
      end: () => ended.resolve(),
      close: () => ended.resolve(),
      error: () => ended.resolve(),
    },
  });
  socket.write(start);
  const drops = setInterval(() => drop === '' || socket.write(drop), DRIP_MS);
  await ended.promise;
  clearInterval(drops);
  socket.terminate();
  return performance.now() - began;
}

/** Connections to each listener of a server, which have one answer each. */
async function answered({ port, pushPort, adminPort }: Fanfare) {
  const asked = [
    { port, target: signedTarget('GET', `/apps/${APP.id}/channels`) },
    { port, target: '/nowhere' },
    { port: pushPort, target: '/nowhere' },
    { port: adminPort, target: '/healthz' },
  ];
  const connections = await Promise.all(
    asked.map(async ({ port: at, target }) => ({ target, http: await RawHttp.open({ port: at }) })),
  );
  const ask = () =>
    Promise.all(
      connections.map(async ({ target, http }) => (await http.request(get(target))).status),
    );
  expect(await ask()).toEqual([200, 404, 404, 200]);
  return {
    ask,
    [Symbol.asyncDispose]: async () => {
      for (const { http } of connections) await http[Symbol.asyncDispose]();
    },
  };
}

const get = (target: string) => ({ method: 'GET', target });

it('ends each connection that does not finish its request or handshake, and no other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-certificate-'));
  const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  writeFileSync(tls.certFile, untrusted.cert);
  writeFileSync(tls.keyFile, untrusted.key);
  await using plain = await startFanfare({
    channels: { activityTimeoutSeconds: PING_AFTER_SECONDS },
    config: { push: pushSettings(instanceSettings()), admin: { port: 0 } },
  });
  await using secure = await startFanfare({ config: { tls } });
  await using brief = await startFanfare({ channels: { httpIdleSeconds: 4 } });
  rmSync(folder, { recursive: true });
  await using silent = await RawClient.connect(plain);
  await using idle = await answered(plain);

  await using shortIdle = await RawHttp.open(brief);
  expect((await shortIdle.request(get('/nowhere'))).status).toBe(404);
  const idleSinceMs = performance.now();
  const shortIdleEnds = shortIdle.untilEnd().then(() => performance.now() - idleSinceMs);

  const took = await Promise.all([
    endsAfter(plain.port, ''),
    endsAfter(plain.port, 'GET /app/x HTTP/1.1\r\nHost: '),
    endsAfter(plain.port, `${HEAD}X-Long: `, 'x'),
    endsAfter(plain.port, SIZED + BODY.slice(0, 10)),
    endsAfter(plain.port, SIZED, 'x'),
    endsAfter(plain.port, CHUNKED),
    endsAfter(plain.port, CHUNKED, '1\r\nx\r\n'),
    endsAfter(brief.port, receive(APP.key, 'xhr')),
    endsAfter(brief.port, receive('nobody', 'xhr_streaming')),
    endsAfter(brief.port, `${receive(APP.key, 'xhr')}GET /app/x HTTP/1.1\r\nX-Long: `, 'x'),
    endsAfter(secure.port, ''),
    // The beginning of a ClientHello that announces 512 bytes.
    endsAfter(secure.port, Uint8Array.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01)),
    endsAfter(secure.port, Uint8Array.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01), 'x'),
  ]);

  expect(took.map((ms) => ms < ENDED_MAX_MS)).toEqual(took.map(() => true));
  expect(await shortIdleEnds).toBeLessThan(SHORT_IDLE_MAX_MS);
  expect(await silent.receive()).toMatchObject({ event: 'a WebSocket ping' });
  // Proxies keep connections for a minute or two, and lose a request when the server closes one meanwhile.
  expect(await idle.ask()).toEqual([200, 404, 404, 200]);
}, 180_000);
