import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { run } from '../../src/cli/run.ts';
import type { CheckName } from '../../src/doctor/check-names.ts';
import { clientFrame, opcodes, readFrame } from '../../src/doctor/client/websocket-frames.ts';
import type { Check } from '../../src/doctor/report.ts';
import { parseTarget } from '../../src/doctor/target.ts';
import { testSeed } from '../../testing/long-run.ts';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';
import {
  closedPort,
  holdingProxy,
  httpAnswer,
  proxy,
  replacing,
  sameAnswer,
  tcpServer,
} from './broken-servers.ts';
import { carelessServer, greeting } from './careless-server.ts';
import { issued, selfSigned } from './certificates.ts';
import { temporaryDirectory } from './run-fanfare.ts';

fc.configureGlobal({ seed: testSeed() });

/** The report of the doctor on a server. */
class Diagnosis {
  readonly code: number;
  readonly checks: readonly Check[];

  constructor(code: number, checks: readonly Check[]) {
    this.code = code;
    this.checks = checks;
  }

  of(name: CheckName): Check | undefined {
    return this.checks.find((check) => check.name === name);
  }

  /** The names of the checks with a result. */
  with(result: Check['result']): readonly CheckName[] {
    return this.checks.filter((check) => check.result === result).map(({ name }) => name);
  }
}

type Options = Readonly<Record<string, string | true | undefined>>;

const BACKEND = { secret: APP.secret, 'app-id': APP.id } as const;
/** Long enough for a slow machine. Tests with a silent server wait this long. */
const SHORT_SECONDS = '0.4';

/** Runs the doctor on a server of this machine with these command-line options. */
async function examine(
  server: { readonly port: number } | string,
  options: Options = {},
): Promise<Diagnosis> {
  const { code, printed } = await doctor({
    url: typeof server === 'string' ? server : `http://127.0.0.1:${server.port}`,
    key: APP.key,
    idle: '0',
    json: true,
    ...options,
  });
  const { ok, checks } = JSON.parse(printed) as { ok: boolean; checks: Check[] };
  expect(ok).toBe(code === 0);
  return new Diagnosis(code, checks);
}

async function doctor(options: Options) {
  const printed: string[] = [];
  const complained: string[] = [];
  const argv = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : value === true ? [`--${name}`] : [`--${name}`, value],
  );
  const code = await run(['doctor', ...argv], {
    print: (text) => void printed.push(text),
    complain: (text) => void complained.push(text),
  });
  const said = { code, printed: printed.join('\n'), complained: complained.join('\n') };
  // Checked in every test: the output contains no secret.
  if (options['secret'] !== undefined && options['secret'] !== true) {
    expect(said.printed.includes(options['secret'])).toBe(false);
    expect(said.complained.includes(options['secret'])).toBe(false);
  }
  return said;
}

function failure(detail: string | RegExp, advice: string | RegExp = /./) {
  return {
    result: 'failed' as const,
    detail: expect.stringMatching(new RegExp(detail)),
    advice: expect.stringMatching(new RegExp(advice)),
  };
}

function warned(detail: string | RegExp, advice: string | RegExp = /./) {
  return { ...failure(detail, advice), result: 'warning' as const };
}

const DISABLED = { id: '4', key: 'disabledkey00000000', secret: 'disabledsecret000000' };

describe('the doctor examines a working server and', () => {
  let server: Fanfare;
  beforeAll(async () => {
    server = await startFanfare({
      moreApps: [
        {
          id: DISABLED.id,
          name: 'off',
          enabled: false,
          keys: [{ key: DISABLED.key, secret: DISABLED.secret }],
        },
      ],
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('finds everything in order', async () => {
    const found = await examine(server, { ...BACKEND, idle: '0.2' });
    expect(found.with('failed')).toEqual([]);
    expect(found.with('warning')).toEqual([]);
    expect(found.with('not checked')).toEqual(['tls', 'api-dns', 'api-tcp', 'api-tls']);
    expect(found.code).toBe(0);
  });

  it('prints text with one line for each check and one at the end', async () => {
    const said = await doctor({
      url: `ws://127.0.0.1:${server.port}/`,
      key: APP.key,
      idle: '0.1',
      ...BACKEND,
    });
    expect(said.printed).toMatch(/^✓ delivery +heard \d+ ms after it was sent$/m);
    expect(said.printed.split('\n').at(-1)).toBe('Nothing is wrong: 28 checks are ok.');
  });

  it('skips the checks that need a secret if none was given', async () => {
    const found = await examine(server);
    expect(found.code).toBe(0);
    expect(found.of('public-channel')).toMatchObject({ result: 'ok' });
    expect(found.of('private-channel')).toMatchObject({ detail: 'it needs --secret' });
    expect(found.of('delivery')).toMatchObject({ detail: 'it needs --secret and --app-id' });
  });

  it('detects a wrong key', async () => {
    const found = await examine(server, { ...BACKEND, key: 'nosuchkey' });
    expect(found.of('first-message')).toMatchObject(failure('no app with this key', '--key'));
    expect(found.of('signed-request')).toMatchObject(failure('knows no such key'));
    expect(found.of('public-channel')).toMatchObject({
      result: 'not checked',
      detail: 'because "first-message" failed',
    });
    expect(found.code).toBe(1);
  });

  it('detects a wrong secret, for the private channel and the HTTP API', async () => {
    const secret = 'not-the-secret-of-it';
    const found = await examine(server, { ...BACKEND, secret });
    expect(found.of('private-channel')).toMatchObject(
      failure('secret does not belong', '--secret'),
    );
    expect(found.of('signed-request')).toMatchObject(failure('secret does not belong', '--secret'));
    expect(found.with('failed')).toEqual(['private-channel', 'signed-request']);
  });

  it('detects a wrong app id with a right key', async () => {
    const found = await examine(server, { ...BACKEND, 'app-id': '999' });
    expect(found.with('failed')).toEqual(['signed-request']);
    expect(found.of('signed-request')).toMatchObject(
      failure('not one of the app 999', '--app-id is not'),
    );
  });

  it('detects a disabled app, for clients and backends', async () => {
    const { id, key, secret } = DISABLED;
    const found = await examine(server, { key, secret, 'app-id': id });
    expect(found.of('first-message')).toMatchObject(failure('disabled.*4003', 'Enable'));
    expect(found.of('signed-request')).toMatchObject(failure('403', 'disabled'));
  });

  it('detects a wrong path prefix', async () => {
    const found = await examine(`http://127.0.0.1:${server.port}/wrong`, BACKEND);
    expect(found.of('first-message')).toMatchObject(failure('/wrong/app/KEY', 'path'));
    expect(found.of('signed-request')).toMatchObject(failure('404', 'pathPrefix'));
  });

  it('detects a port without TLS', async () => {
    const found = await examine(`https://127.0.0.1:${server.port}`);
    expect(found.of('tls')).toMatchObject(failure('does not speak TLS', 'http://'));
    expect(found.of('websocket')).toMatchObject({ detail: 'because "tls" failed' });
  });

  it('names the headers that a proxy drops, and how to pass them on', async () => {
    await using broken = await proxy(server, {
      toServer: replacing(/(?:Upgrade: websocket|Connection: Upgrade)\r\n/g, ''),
    });
    const found = await examine(broken, BACKEND);
    expect(found.with('failed')).toEqual(['websocket']);
    expect(found.of('websocket')).toMatchObject(
      failure('Upgrade and Connection are lost', /nginx:.*\nApache:.*\nCaddy:.*\nHAProxy:.*\nAWS/),
    );
    // Checks that need no WebSocket still run.
    expect(found.of('trigger')).toMatchObject({ result: 'ok' });
  });

  it('recognises a proxy that buffers after the handshake', async () => {
    await using broken = await proxy(server, {
      toClient: (bytes) =>
        bytes.includes(' 101 ')
          ? bytes.subarray(0, bytes.indexOf('\r\n\r\n') + 4)
          : noFrames(bytes),
    });
    const found = await examine(broken, { timeout: SHORT_SECONDS });
    expect(found.with('failed')).toEqual(['first-message']);
    expect(found.of('first-message')).toMatchObject(failure('nothing arrives', 'proxy_buffering'));
  });

  it('names the idle timeout of a proxy, and what to set', async () => {
    await using broken = await proxy(server, { idleMs: 500 });
    const found = await examine(broken, { idle: '30' });
    expect(found.of('idle')).toMatchObject(
      failure(/closed after [\d.]+ s, without a word/, 'proxy_read_timeout'),
    );
  });

  it('detects a body that was changed on its way to the server', async () => {
    await using broken = await proxy(server, { toServer: replacing('你好', '??????') });
    const found = await examine(broken, BACKEND);
    expect(found.with('failed')).toEqual(['unchanged-data']);
    expect(found.of('unchanged-data')).toMatchObject(failure('body arrives changed', 'rewrites'));
  });

  it('detects an event that was changed on its way to clients, and where', async () => {
    await using broken = await proxy(server, { toClient: replacing('你好', '??????') });
    const found = await examine(broken, BACKEND);
    expect(found.with('failed')).toEqual(['unchanged-data']);
    expect(found.of('unchanged-data')).toMatchObject(failure('你好.* became .*\\?\\?', 'rewrites'));
  });

  it('detects a path that was changed on its way, since the path is signed', async () => {
    await using broken = await proxy(server, { toServer: replacing('GET /rt/apps', 'GET /apps') });
    const found = await examine(`http://127.0.0.1:${broken.port}/rt`, BACKEND);
    expect(found.of('signed-request')).toMatchObject(
      failure('/rt/apps/3/channels was sent, the server saw /apps/3/channels', 'pathPrefix'),
    );
  });

  it('warns if large headers or bodies do not pass, with the remedy', async () => {
    await using broken = await proxy(server, {
      instead: (request) =>
        /X-Fanfare-Doctor/.test(request)
          ? httpAnswer('431 Request Header Fields Too Large', '', { Server: 'nginx/1.25' })
          : /Content-Length: \d{6}/.test(request)
            ? httpAnswer('413 Content Too Large', '', { Server: 'nginx/1.25' })
            : undefined,
    });
    const found = await examine(broken, BACKEND);
    expect(found.with('warning')).toEqual(['large-header', 'large-body']);
    expect(found.of('large-header')?.advice).toEndWith(
      'nginx: large_client_header_buffers 4 16k; (4 8k unless set)',
    );
    expect(found.of('large-body')).toMatchObject(warned('413', 'client_max_body_size'));
    expect(found.code).toBe(0);
  });

  it('says how fast events arrive over the HTTP transports', async () => {
    const found = await examine(server, { ...BACKEND, idle: '0.1' });
    const arrived = /^opens after \d+ ms, and an event arrives after \d+ ms$/;
    expect(found.of('xhr-streaming')?.detail).toMatch(arrived);
    expect(found.of('xhr-polling')?.detail).toMatch(arrived);
    expect(found.of('xhr-idle')?.detail).toMatch(/stay open for 0.1 s/);
    const asClient = await examine(server);
    expect(asClient.of('xhr-polling')?.detail).toMatch(/the answer to a message arrives/);
  });

  it('recognises a proxy that buffers streams, and names its settings', async () => {
    await using broken = await holdingProxy(server, {
      requests: /POST.*xhr_streaming/,
      buffers: true,
    });
    const found = await examine(broken, { ...BACKEND, timeout: '2' });
    expect(found.with('warning')).toEqual(['xhr-streaming']);
    expect(found.of('xhr-streaming')).toMatchObject(
      warned(
        'is buffered: .*the first message does not arrive within 2 s; it arrives when the answer ends',
        /4 s .*xhr_polling(.|\n)*proxy_buffering off.*X-Accel-Buffering/,
      ),
    );
    expect(found.of('xhr-polling')).toMatchObject({ result: 'ok' });
  });

  it('detects a proxy that cuts what takes long', async () => {
    await using broken = await holdingProxy(server, {
      requests: /POST.*xhr_streaming/,
      cutsBehind: 'connection_established',
    });
    const found = await examine(broken, BACKEND);
    expect(found.with('warning')).toEqual(['xhr-streaming']);
    expect(found.of('xhr-streaming')).toMatchObject(
      warned('xhr_streaming is cut before the answer to a message', 'proxy_read_timeout 60s'),
    );
  });

  it('detects a proxy that cuts polls which are not answered yet', async () => {
    let polls = 0;
    await using broken = await proxy(server, {
      // The first two are answered at once, and every later one by nobody.
      instead: (request) => (/ \S+\/xhr\?/.test(request) && ++polls > 2 ? '' : undefined),
    });
    const found = await examine(broken, BACKEND);
    expect(found.with('warning')).toEqual(['xhr-polling']);
    expect(found.of('xhr-polling')).toMatchObject(
      warned('xhr_polling is cut before the answer to a message', 'timeout server 60s'),
    );
  });

  it('detects a proxy that cuts a stream on which nothing is said', async () => {
    await using broken = await holdingProxy(server, {
      requests: /\/xhr_streaming/,
      cutsBehind: 'doctor-fallback',
    });
    const found = await examine(broken, { ...BACKEND, idle: '0.5' });
    expect(found.with('warning')).toEqual(['xhr-idle']);
    expect(found.of('xhr-idle')).toMatchObject(warned('is cut within 0.5 s', 'every 25 s'));
  });

  it.each([
    ['OPTIONS', '403 Forbidden', ['xhr-preflight'], 'cannot connect: .*403 from squid', 'OPTIONS'],
    ['OPTIONS', '200 OK', ['xhr-preflight'], 'no Access-Control-Allow-Origin', 'neither answer'],
    ['OPTIONS', '301 Moved', ['xhr-preflight'], 'redirected', 'https'],
    ['OPTIONS', '404 Not Found', ['xhr-preflight'], 'there is no /pusher/app/', 'not forward'],
    ['POST', '403 Forbidden', ['xhr-streaming', 'xhr-polling'], '403 from squid', 'POST'],
    ['POST', '502 Bad Gateway', ['xhr-streaming', 'xhr-polling'], 'a proxy answers', 'runs'],
    ['POST', '200 OK', ['xhr-streaming', 'xhr-polling'], '200 from squid, "no"', 'POST'],
  ])(
    'names what refuses the HTTP transports: %s with %s',
    async (method, status, names, detail, advice) => {
      const answer = httpAnswer(status, 'no', {
        Server: 'squid',
        ...(status.startsWith('301') ? { Location: 'https://example.test/' } : {}),
      });
      await using broken = await proxy(server, {
        instead: (request) => (request.startsWith(`${method} /pusher/app/`) ? answer : undefined),
      });
      const found = await examine(broken, BACKEND);
      expect<readonly string[]>(found.with('warning')).toEqual(names);
      for (const name of found.with('warning')) {
        expect(found.of(name)).toMatchObject(warned(detail, advice));
      }
      expect(found.code).toBe(0);
    },
  );

  it('says which requests of a session do not reach its server', async () => {
    await using broken = await proxy(server, {
      instead: (request) =>
        request.includes('/xhr_send') ? httpAnswer('404 Not Found', 'No such session') : undefined,
    });
    const found = await examine(broken, { ...BACKEND, timeout: '1' });
    expect(found.of('xhr-polling')).toMatchObject(
      warned('what clients send is answered with 404, "No such session"', 'different servers'),
    );
  });

  it('warns of an answer to a trigger that is not {}', async () => {
    await using broken = await proxy(server, { toClient: replacing('\r\n\r\n{}', '\r\n\r\n[]') });
    const found = await examine(broken, BACKEND);
    expect(found.of('trigger')).toMatchObject(warned('instead of 200 "{}"', 'compare'));
    expect(found.of('delivery')).toMatchObject({ result: 'ok' });
  });
});

/** Frames begin with a byte that no HTTP answer begins with. */
function noFrames(bytes: Buffer): Buffer {
  return bytes[0] === 'H'.charCodeAt(0) ? bytes : Buffer.alloc(0);
}

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
    expect(found.of('delivery')).toMatchObject(failure('not heard', 'different servers'));
  });

  it('detects a greeting without an activity_timeout', async () => {
    await using server = carelessServer({ first: greeting({ activity_timeout: undefined }) });
    expect((await examine(server)).of('activity-timeout')).toMatchObject(
      failure('none', 'pusher-js'),
    );
  });

  it('pings like a client when the server is silent for longer than the activity_timeout', async () => {
    await using server = carelessServer({ first: greeting({ activity_timeout: 0.1 }) });
    const found = await examine(server, { idle: '0.35' });
    expect(found.of('idle')).toMatchObject({ result: 'ok' });
    // One ping of the ping check, and one in each of three silent periods.
    expect(server.said.filter((event) => event === 'pusher:ping').length).toBeGreaterThan(2);
  });

  it('detects a WebSocket service with another protocol', async () => {
    await using server = carelessServer({ first: 'hello' });
    expect((await examine(server)).of('first-message')).toMatchObject(
      failure('"hello"', 'Another'),
    );
  });

  it.each([
    [4000, 'only TLS', 'https'],
    [4004, 'as many connections', 'Raise'],
    [4006, 'protocol version', 'query'],
    [4007, 'protocol 7', 'Upgrade'],
    [4008, 'no protocol version', 'query'],
    [4100, 'capacity', 'Raise'],
  ])('explains the refusal %d', async (code, detail, advice) => {
    const first = JSON.stringify({ event: 'pusher:error', data: { code, message: 'no' } });
    await using server = carelessServer({ first });
    const refusal = (await examine(server)).of('first-message');
    expect(refusal).toMatchObject(failure(`${detail}.*${code}: "no"`, advice));
  });

  it('knows the two hosts of the hosted service', () => {
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

describe('the doctor examines a server with TLS and', () => {
  const directory = temporaryDirectory();
  const authority = selfSigned(directory.path, 'authority');
  const make = (name: string, days: number, host: string) =>
    issued(directory.path, 'authority', name, { days, host });
  afterAll(() => directory[Symbol.dispose]());

  it('detects a self-signed certificate, and continues only on request', async () => {
    const { certFile, keyFile } = authority;
    await using server = await startFanfare({ config: { tls: { certFile, keyFile } } });
    const url = `https://127.0.0.1:${server.port}`;

    const found = await examine(url, BACKEND);
    expect(found.with('failed')).toEqual(['tls']);
    expect(found.of('tls')).toMatchObject(failure('self-signed', 'certbot'));
    expect(found.of('websocket')).toMatchObject({ detail: 'because "tls" failed' });

    const insecure = await examine(url, { ...BACKEND, insecure: true });
    expect(insecure.with('failed')).toEqual(['tls']);
    expect(insecure.of('unchanged-data')).toMatchObject({ result: 'ok' });

    const trusted = await examine(url, { ...BACKEND, ca: certFile });
    expect(trusted.of('tls')).toMatchObject({
      result: 'ok',
      detail: expect.stringMatching(/89|90/),
    });
    expect(trusted.code).toBe(0);

    const plain = await examine(`http://127.0.0.1:${server.port}`, { timeout: '1' });
    expect(plain.of('http')).toMatchObject(failure(/./, 'https://'));
  });

  it.each([
    ['that has expired', 'old', -1, 'IP:127.0.0.1', true, 'failed', 'expired on'],
    ['that ends soon', 'soon', 5, 'IP:127.0.0.1', true, 'warning', 'expires in [45] days'],
    ['for another host', 'other', 90, 'DNS:other.test', true, 'failed', 'it names DNS:other.test'],
    ['of an unknown issuer', 'unknown', 90, 'IP:127.0.0.1', false, 'failed', 'issuer .* unknown'],
    ['with every fault', 'bad', -1, 'DNS:x.test', true, 'failed', 'expired.*; .*another host'],
  ] as const)('detects a certificate %s', async (_, name, days, host, trusted, result, detail) => {
    const certificate = make(name, days, host);
    await using server = await tcpServer((socket) => socket.resume(), certificate);
    const found = await examine(`https://127.0.0.1:${server.port}`, {
      timeout: SHORT_SECONDS,
      ...(trusted ? { ca: authority.certFile } : {}),
    });
    expect(found.of('tls')).toMatchObject({
      result,
      detail: expect.stringMatching(new RegExp(detail)),
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
