import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { APP, type Fanfare, startFanfare } from '../../../testing/servers/fanfare.ts';
import { httpAnswer, proxy, replacing } from './broken-servers.ts';
import { BACKEND, doctor, examine, failure, SHORT_SECONDS, warned } from './examine.ts';

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
    expect(found.with('not checked')).toEqual([
      'tls',
      'api-dns',
      'api-tcp',
      'api-tls',
      'auth-endpoint',
    ]);
    expect(found.code).toBe(0);
  });

  it('prints text with one line for each check and one at the end', async () => {
    const said = await doctor({
      url: `ws://127.0.0.1:${server.port}/`,
      key: APP.key,
      idle: '0.1',
      ...BACKEND,
    });
    expect(said.printed).toMatch(/^✓ delivery +received \d+ ms after it was sent$/m);
    expect(said.printed.split('\n').at(-1)).toBe('Nothing is wrong: 28 checks are ok.');
  });

  it('skips the checks that need a secret if none was given', async () => {
    const found = await examine(server);
    expect(found.code).toBe(0);
    expect(found.of('public-channel')).toMatchObject({ result: 'ok' });
    expect(found.of('private-channel')).toMatchObject({ detail: 'it needs --secret' });
    expect(found.of('delivery')).toMatchObject({ detail: 'it needs --secret and --app-id' });
  });

  it.each(['push', 'admin'] as const)('recognises the %s listener of Fanfare', async (listener) => {
    const port = listener === 'push' ? server.pushPort : server.adminPort;
    const found = await examine({ port }, BACKEND);
    expect(found.with('failed')).toEqual(['http', 'websocket', 'signed-request']);
    for (const check of found.checks.filter(({ result }) => result === 'failed')) {
      expect(check).toMatchObject(
        failure(`this is Fanfare's ${listener} listener`, 'Channels is on another port'),
      );
    }
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
