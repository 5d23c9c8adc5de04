import { expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawClient } from '../../testing/clients/raw-client.ts';
import { signedTarget } from '../../testing/clients/sign.ts';
import { untrusted } from '../../testing/servers/certificates.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';

/** Longest time a request may take. */
const ENDED_MAX_MS = 60_000;
const DRIP_MS = 500;

const BODY = JSON.stringify({ name: 'e', channel: 'news', data: 'x'.repeat(1000) });
const TARGET = signedTarget('POST', `/apps/${APP.id}/events`, { body: BODY });
const HEAD = `POST ${TARGET} HTTP/1.1\r\nHost: x\r\n`;
const SIZED = `${HEAD}Content-Length: ${BODY.length}\r\n\r\n`;
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

/** Answered at once: by the first line of a session over HTTP, or by the line that closes it. */
const receive = (key: string, end: string) =>
  `POST /pusher/app/${key}/1/${crypto.randomUUID()}/${end}?protocol=7&n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`;

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

it('ends each connection that does not finish its request or handshake, and no other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-certificate-'));
  const tls = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
  writeFileSync(tls.certFile, untrusted.cert);
  writeFileSync(tls.keyFile, untrusted.key);
  await using plain = await startFanfare();
  await using secure = await startFanfare({ config: { tls } });
  rmSync(folder, { recursive: true });
  await using silent = await RawClient.connect(plain);

  const took = await Promise.all([
    endsAfter(plain.port, ''),
    endsAfter(plain.port, 'GET /app/x HTTP/1.1\r\nHost: '),
    endsAfter(plain.port, `${HEAD}X-Long: `, 'x'),
    endsAfter(plain.port, SIZED + BODY.slice(0, 10)),
    endsAfter(plain.port, SIZED, 'x'),
    endsAfter(plain.port, CHUNKED),
    endsAfter(plain.port, CHUNKED, '1\r\nx\r\n'),
    endsAfter(plain.port, receive(APP.key, 'xhr')),
    endsAfter(plain.port, receive('nobody', 'xhr_streaming')),
    endsAfter(plain.port, `${receive(APP.key, 'xhr')}GET /app/x HTTP/1.1\r\nX-Long: `, 'x'),
    endsAfter(secure.port, ''),
    // The beginning of a ClientHello that announces 512 bytes.
    endsAfter(secure.port, Uint8Array.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01)),
    endsAfter(secure.port, Uint8Array.of(0x16, 0x03, 0x01, 0x02, 0x00, 0x01), 'x'),
  ]);

  expect(took.map((ms) => ms < ENDED_MAX_MS)).toEqual(took.map(() => true));
  await silent.receiveNothing();
}, 180_000);
