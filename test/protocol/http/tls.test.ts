import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathOf } from '../../../testing/clients/raw-client.ts';
import { RawHttp } from '../../../testing/clients/raw-http.ts';
import { signedTarget } from '../../../testing/clients/sign.ts';
import { Inbox } from '../../../testing/inbox.ts';
import { untrusted } from '../../../testing/servers/certificates.ts';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { loggedProblems } from '../../../testing/servers/logged-problems.ts';
import { EMPTY, seen } from './exchange.ts';

const directory = mkdtempSync(join(tmpdir(), 'fanfare-tls-'));
let server: Fanfare;
/** Several threads or servers may close a connection whose next request comes before the answer to the last. */
let oneThread: Fanfare;
beforeAll(async () => {
  const certFile = join(directory, 'cert.pem');
  const keyFile = join(directory, 'key.pem');
  writeFileSync(certFile, untrusted.cert);
  writeFileSync(keyFile, untrusted.key);
  const config = { tls: { certFile, keyFile } };
  server = await startFanfare({ config });
  oneThread = await startFanfare({ config, threads: 1, onlyOne: 'pipelining' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await oneThread[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const trust = { ca: untrusted.cert };
const path = `/apps/${APP.id}/events`;
const eventOf = (channel: string) => JSON.stringify({ name: 'n', channel, data: 'd' });

/** Opens a WebSocket over TLS, and returns what comes, one message after the other. */
function webSocket(): { socket: WebSocket; next(): Promise<string> } {
  const address = `wss://127.0.0.1:${server.port}${pathOf()}`;
  const socket = new WebSocket(address, { tls: trust });
  const inbox = new Inbox<string>('The WebSocket');
  socket.addEventListener('message', ({ data }) => inbox.put(String(data)));
  socket.addEventListener('close', () => inbox.fail(new Error('The WebSocket was closed')));
  return { socket, next: () => inbox.next() };
}

describe('a server with a certificate', () => {
  it('serves the HTTP API to clients that trust it', async () => {
    const body = eventOf('a');
    const url = `https://127.0.0.1:${server.port}${signedTarget('POST', path, { body })}`;
    expect(await seen(await fetch(url, { method: 'POST', body, tls: trust }))).toEqual(EMPTY);
  });

  it('is refused by clients that do not', async () => {
    expect(fetch(`https://127.0.0.1:${server.port}/`)).rejects.toThrow(/certificate/);
  });

  it('delivers to WebSockets', async () => {
    const { socket, next } = webSocket();
    expect(await next()).toContain('pusher:connection_established');
    socket.send('{"event":"pusher:subscribe","data":{"channel":"tls"}}');
    expect(await next()).toContain('pusher_internal:subscription_succeeded');

    await using connection = await RawHttp.open(server, { tls: true });
    const body = eventOf('tls');
    const target = signedTarget('POST', path, { body });
    expect(await connection.request({ method: 'POST', target, body })).toMatchObject({
      status: 200,
    });
    expect(await next()).toBe('{"event":"n","channel":"tls","data":"d"}');
    socket.terminate();
  });

  it('serves many requests on one connection, also pipelined', async () => {
    await using connection = await RawHttp.open(oneThread, { tls: true });
    const requests = Array.from({ length: 20 }, (_, at) => {
      const body = eventOf(`many-${at}`);
      const target = signedTarget('POST', path, { body });
      return { method: 'POST', target, ...(at % 2 === 0 ? { body } : { chunks: [body] }) };
    });
    for (const request of requests) {
      expect(await connection.request(request)).toMatchObject({ status: 200, body: '{}' });
    }
    for (const request of requests) connection.sendRequest(request);
    for (const _ of requests) {
      expect(await connection.read()).toMatchObject({ status: 200, body: '{}' });
    }
  });

  it('accepts a body of many packets', async () => {
    const body = JSON.stringify({ name: 'n', channel: 'a', data: 'd', pad: 'x'.repeat(900_000) });
    await using connection = await RawHttp.open(server, { tls: true });
    const target = signedTarget('POST', path, { body });
    expect(await connection.request({ method: 'POST', target, body })).toMatchObject({
      status: 200,
    });
  });

  it('closes a connection with plain HTTP, and keeps running', async () => {
    await using plain = await RawHttp.open(server);
    plain.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await plain.readToEnd()).not.toStartWith('HTTP');
    await using connection = await RawHttp.open(server, { tls: true });
    expect(await connection.request({ method: 'GET', target: '/' })).toMatchObject({ status: 404 });
    expect(loggedProblems(server)).toEqual([]);
  });
});
