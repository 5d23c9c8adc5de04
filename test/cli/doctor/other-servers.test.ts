import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { clientFrame, opcodes, readFrame } from '../../../src/doctor/client/websocket-frames.ts';
import { parseTarget } from '../../../src/doctor/target.ts';
import { testSeed } from '../../../testing/long-run.ts';
import { closedPort, httpAnswer, sameAnswer, tcpServer } from './broken-servers.ts';
import { carelessServer, greeting } from './careless-server.ts';
import {
  BACKEND,
  doctor,
  examine,
  failure,
  type Options,
  SHORT_SECONDS,
  warned,
} from './examine.ts';

fc.configureGlobal({ seed: testSeed() });

describe('the doctor examines something broken and', () => {
  it('detects an invalid URL, and one with too many parts', async () => {
    expect((await examine('localhost 6001')).of('url')).toMatchObject(failure('not a URL'));
    expect((await examine('localhost:6001')).of('url')).toMatchObject(failure('begin with'));
    expect((await examine('http://h/app/key')).of('url')).toMatchObject(failure('one call'));
    expect((await examine('http://h/?a=1')).of('url')).toMatchObject(failure('a query'));
    expect((await examine('http://a:b@h/')).of('url')).toMatchObject(failure('password'));
  });

  it('detects a name that does not exist', async () => {
    const found = await examine('http://fanfare-doctor.invalid', { timeout: '2' });
    expect(found.of('dns')).toMatchObject(failure('fanfare-doctor.invalid', /./));
    expect(found.with('failed')).toEqual(['dns']);
  });

  it('detects a port on which nothing listens', async () => {
    const found = await examine({ port: await closedPort() });
    expect(found.with('failed')).toEqual(['tcp']);
    expect(found.of('tcp')).toMatchObject(failure('nothing listens', 'server runs'));
    expect(found.of('websocket')).toMatchObject({ detail: 'because "tcp" failed' });
  });

  it('detects a server that accepts connections and sends nothing', async () => {
    await using broken = await tcpServer((socket) => socket.resume());
    const found = await examine(broken, { timeout: SHORT_SECONDS });
    expect(found.of('tcp')).toMatchObject({ result: 'ok' });
    expect(found.of('http')).toMatchObject(failure('says nothing for 0.4 s', 'hangs'));
    expect(found.of('websocket')).toMatchObject(failure('says nothing'));
    const secure = await examine(`https://127.0.0.1:${broken.port}`, { timeout: SHORT_SECONDS });
    expect(secure.of('tls')).toMatchObject(failure('no answer within 0.4 s'));
  });

  it('detects a server that closes instead of answering', async () => {
    await using broken = await tcpServer((socket) => socket.on('data', () => socket.end()));
    expect((await examine(broken)).of('http')).toMatchObject(failure('closes', 'https://'));
  });

  it('detects a port of another service', async () => {
    await using broken = await tcpServer((socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'));
    expect((await examine(broken)).of('http')).toMatchObject(failure('SSH-2.0', 'port'));
  });

  it('recognises the page of a proxy that does not reach the server', async () => {
    const page = '<html><head><title>502 Bad Gateway</title></head></html>';
    const headers = { Server: 'nginx', 'Content-Type': 'text/html' };
    await using broken = await sameAnswer(httpAnswer('502 Bad Gateway', page, headers));
    const found = await examine(broken, BACKEND);
    expect(found.of('http')).toMatchObject(
      failure(/502 from nginx, a web page "502 Bad Gateway"/, 'server behind it'),
    );
    expect(found.with('failed')).toEqual(['http', 'websocket', 'signed-request']);
  });

  it('explains a redirect to https, which no client follows', async () => {
    const headers = { Location: 'https://example.test/' };
    await using broken = await sameAnswer(httpAnswer('301 Moved Permanently', '', headers));
    const found = await examine(broken, BACKEND);
    expect(found.with('failed')).toEqual(['redirect']);
    expect(found.of('redirect')).toMatchObject(failure('http is redirected to https', 'forceTLS'));
  });

  it('detects a clock that is an hour behind, from the header and from the text', async () => {
    const hourAgo = () => new Date(Date.now() - 3_600_000);
    await using broken = await sameAnswer(() => {
      const iso = (date: Date) => date.toISOString().replace(/\.\d+Z$/, 'Z');
      const text = `Timestamp expired: Given timestamp (${iso(new Date())}) not within 600s of server time (${iso(hourAgo())})`;
      return httpAnswer('401 Unauthorized', text, { Date: hourAgo().toUTCString() });
    });
    const found = await examine(broken, BACKEND);
    expect(found.of('clock')).toMatchObject(failure(/ (3599|360[01]) s behind/, 'date -u'));
    expect(found.of('signed-request')).toMatchObject(
      failure(/out of date: .* (3599|360[01]) s behind/, 'clocks'),
    );
  });

  it('warns of connections that cannot be used again', async () => {
    const once = httpAnswer('401 Unauthorized', 'no', { Connection: 'close' });
    await using broken = await tcpServer((socket) => socket.once('data', () => socket.end(once)));
    expect((await examine(broken)).of('keep-alive')).toMatchObject(warned('new connection'));
  });

  it.each([
    ['400 Bad Request', 'Upgrade and Connection are lost', 'proxy_set_header'],
    ['403 Forbidden', 'forbidden', 'firewall'],
    ['404 Not Found', 'there is no /app/KEY', 'mounted under a path'],
    ['426 Upgrade Required', 'Upgrade and Connection are lost', 'proxy_set_header'],
    ['429 Too Many Requests', 'too many', 'rate limit'],
    ['200 OK', 'something else answers', 'forwards /app/'],
    ['500 Internal Server Error', '500', 'log'],
    ['503 Service Unavailable', 'proxy answers', 'health checks'],
    ['521 Down', 'proxy answers', 'Cloudflare'],
  ])('explains a WebSocket handshake that is answered with %s', async (status, detail, advice) => {
    await using broken = await sameAnswer(httpAnswer(status, ''));
    expect((await examine(broken)).of('websocket')).toMatchObject(failure(detail, advice));
  });

  it('detects an accepted handshake that was not made for this client', async () => {
    await using broken = await sameAnswer(
      'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: AAAA\r\n\r\n',
    );
    expect((await examine(broken)).of('websocket')).toMatchObject(
      failure('does not belong', 'cache'),
    );
  });
});

describe('the doctor examines other servers of the protocol and', () => {
  it('detects the mistakes of a careless server', async () => {
    await using server = carelessServer({ triggerAnswer: '{"ok":true}' });
    const found = await examine(server, BACKEND);
    expect(found.of('trigger')).toMatchObject(warned('"ok":true'));
    expect(found.with('failed')).toEqual(['second-connection', 'excluded-connection']);
    expect(found.of('second-connection')).toMatchObject(failure('same socket id'));
    expect(found.of('excluded-connection')).toMatchObject(failure('socket_id excludes'));
  });

  it('detects an event that is accepted and never delivered', async () => {
    await using server = carelessServer({ deaf: true });
    const found = await examine(server, { ...BACKEND, timeout: SHORT_SECONDS });
    expect(found.of('delivery')).toMatchObject(failure('not received', 'different servers'));
  });

  it('pings like a client when the server is silent for longer than the activity_timeout', async () => {
    await using server = carelessServer({ first: greeting({ activity_timeout: 0.1 }) });
    const found = await examine(server, { idle: '1' });
    expect(found.of('idle')).toMatchObject({ result: 'ok' });
    // One ping of the ping check, and one in each of up to nine silent periods; a busy machine has fewer.
    expect(server.said.filter((event) => event === 'pusher:ping').length).toBeGreaterThan(2);
  });

  it('explains a refusal in place of the greeting', async () => {
    const first = JSON.stringify({ event: 'pusher:error', data: { code: 4004, message: 'no' } });
    await using server = carelessServer({ first });
    const refusal = (await examine(server)).of('first-message');
    expect(refusal).toMatchObject(failure('as many connections.*4004: "no"', 'Raise'));
  });

  it('recognises the two hosts of the hosted service', () => {
    const parsed = parseTarget('https://api-eu.pusher.com', undefined);
    expect(parsed).toMatchObject({
      target: { websocket: { host: 'ws-eu.pusher.com' }, api: { host: 'api-eu.pusher.com' } },
    });
    expect(parseTarget('wss://ws.pusherapp.com:8443', undefined)).toMatchObject({
      target: {
        websocket: { host: 'ws.pusherapp.com:8443', tls: true, port: 8443 },
        api: { host: 'api.pusherapp.com:8443' },
      },
    });
  });
});
describe('the command', () => {
  const good = { url: 'http://127.0.0.1:1', key: 'k' };
  it.each([
    ['no URL', { key: 'k' }, '--url is missing'],
    ['no key', { url: 'http://127.0.0.1:1' }, '--key is missing'],
    ['a timeout that is not a number', { ...good, timeout: 'soon' }, '--timeout must be'],
    ['a timeout of zero', { ...good, timeout: '0' }, '--timeout must be'],
    ['an idle time below zero', { ...good, idle: 'x1' }, '--idle must be'],
    ['a missing certificate file', { ...good, ca: '/nowhere.pem' }, '--ca: /nowhere.pem'],
  ])('exits with 2 for %s', async (_, options: Options, complaint) => {
    const said = await doctor(options);
    expect(said).toMatchObject({ code: 2, complained: expect.stringContaining(complaint) });
  });
});

describe('the parsers of the doctor', () => {
  it('return a target or a reason for any input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.webUrl()), (text) => {
        const parsed = parseTarget(text, undefined);
        return parsed.ok ? parsed.target.api.port > 0 : parsed.advice !== '';
      }),
    );
  });

  it('return the frame that was written once it is complete', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70_000 }), fc.nat(), (payload, cut) => {
        const bytes = clientFrame(opcodes.text, payload);
        expect(readFrame(bytes.subarray(0, cut % bytes.length))).toBeUndefined();
        const read = readFrame(Buffer.concat([bytes, Buffer.from('more')]));
        expect(read?.bytes).toBe(bytes.length);
        expect(read?.frame.payload.equals(payload)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});
