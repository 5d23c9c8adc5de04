import { afterAll, beforeAll, describe, expect, it } from 'bun:test';
import { runInNewContext } from 'node:vm';
import type { Fanfare } from '../../../../testing/servers/fanfare.ts';
import { type Answered, ask, open, refusal, seen, startPush } from '../exchange.ts';

let server: Fanfare;
beforeAll(async () => {
  server = await startPush();
});
afterAll(() => server[Symbol.asyncDispose]());

const PATH = '/sdk/service-worker.js';

/** Sends a request with these header lines, including `Host`. */
async function asked(lines: string, at: Fanfare = server, target = PATH): Promise<Answered> {
  await using connection = await open(at);
  connection.write(`GET ${target} HTTP/1.1\r\n${lines}\r\n`);
  return seen(await connection.read());
}

/** The address in the worker that it will send reports to. */
function endpointOf({ text }: Answered): unknown {
  const listeners: string[] = [];
  const self: Record<string, unknown> = {
    addEventListener: (name: string) => listeners.push(name),
    registration: {},
    clients: {},
    location: { origin: 'https://shop.example.org' },
  };
  self['self'] = self;
  runInNewContext(text, self);
  expect(listeners.sort()).toEqual(expect.arrayContaining(['notificationclick', 'push']));
  const { PusherPushNotifications } = self as {
    PusherPushNotifications: { endpointOverride: unknown };
  };
  return PusherPushNotifications.endpointOverride;
}

/** Push protocol, §3.9. */
describe('the service worker', () => {
  it('is a script that browsers fetch again each time', async () => {
    const answer = await ask(server, 'GET', PATH);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-cache');
    expect(answer.headers.get('content-length')).toBe(String(Buffer.byteLength(answer.text)));
  });

  it('is served with any query, as the SDK requests it', async () => {
    const target = `${PATH}?pusherBeamsWebSDKVersion=2.1.0`;
    expect((await ask(server, 'GET', target)).text).toBe((await ask(server, 'GET', PATH)).text);
  });

  it('answers HEAD without a body', async () => {
    const [head, get] = [await ask(server, 'HEAD', PATH), await ask(server, 'GET', PATH)];
    expect([head.status, head.text]).toEqual([200, '']);
    for (const name of ['content-type', 'content-length']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name) ?? '');
    }
  });

  it.each([
    ['push.example.org', 'http://push.example.org'],
    ['localhost:6002', 'http://localhost:6002'],
    ['127.0.0.1:6002', 'http://127.0.0.1:6002'],
    ['[::1]:6002', 'http://[::1]:6002'],
  ])('sends reports to the host that served it: %s', async (host, endpoint) => {
    expect(endpointOf(await asked(`Host: ${host}\r\n`))).toBe(endpoint);
  });

  it.each([
    ['https', 'https://push.example.org'],
    ['HTTPS', 'https://push.example.org'],
    ['https, http', 'https://push.example.org'],
    ['http', 'http://push.example.org'],
    ['javascript', 'http://push.example.org'],
    ['', 'http://push.example.org'],
  ])('sends reports to the proxy in front of the server: %j', async (scheme, endpoint) => {
    const lines = `Host: push.example.org\r\nX-Forwarded-Proto: ${scheme}\r\n`;
    expect(endpointOf(await asked(lines))).toBe(endpoint);
  });

  it.each([
    'Host: \r\n',
    "Host: x'});alert(1)//\r\n",
    'Host: x"\r\n',
    'Host: </script>\r\n',
    'Host: x/y\r\n',
    'Host: user@x\r\n',
    'Host: x y\r\n',
    'Host: x:y\r\n',
    'Host: x:123456\r\n',
    'Host: \u00fc\r\n',
    'Host: x\\u0027\r\n',
    'Host: [::1\r\n',
  ])('is refused with the Host header %j', async (lines) => {
    expect(await asked(lines)).toMatchObject(refusal(400, 'Bad request', /Host/));
  });

  it('sends reports to the public address if one is configured', async () => {
    await using own = await startPush({ push: { publicUrl: 'https://push.example.org' } });
    for (const lines of ['Host: evil.test\r\n', "Host: x'y\r\nX-Forwarded-Proto: http\r\n"]) {
      expect(endpointOf(await asked(lines, own))).toBe('https://push.example.org');
    }
  });

  it('is served at no other path', async () => {
    for (const target of [
      '/service-worker.js',
      '/sdk/',
      '/sdk',
      `${PATH}/`,
      '/sdk/../sdk/service-worker.js',
      '/sdk/%73ervice-worker.js',
      '/sdk/..%2fpackage.json',
    ]) {
      expect((await ask(server, 'GET', target)).status).toBe(404);
    }
    const answer = await ask(server, 'POST', PATH);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});
