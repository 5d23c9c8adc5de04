import { afterEach, describe, expect, it } from 'bun:test';
import {
  type ForwardProxyServer,
  type ForwardProxyServerOptions,
  startForwardProxy,
} from '../../testing/servers/forward-proxy.ts';
import { NoProxy } from '../runtime/proxy/no-proxy.ts';
import { a } from './certificates.fixture.ts';
import { proxyAt } from './proxy/forward-proxy.fixture.ts';
import { fetchByName } from './proxy/proxied-fetch.ts';
import { createSendRequest, type OutgoingRequest, type SendRequestOptions } from './request.ts';
import { resolverBy, resolverTo } from './resolver.fixture.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

const ADDRESS = '93.184.216.34';

function post(url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest {
  const timeoutMs = 5_000;
  return { url, owner: 'app 1', headers: {}, body: '{}', timeoutMs, answerBytesMax: 1024, ...more };
}

/** An HTTP server on 127.0.0.1 that answers with the host that it was asked for. */
function serve(tls?: typeof a): number {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls && { tls }),
    fetch: (request) => new Response(request.headers.get('host')),
  });
  stops.defer(() => server.stop(true));
  return Number(server.port);
}

async function start(
  to = 0,
  answer?: ForwardProxyServerOptions['answer'],
): Promise<ForwardProxyServer> {
  const options = { portOf: () => (to === 0 ? undefined : to), ...(answer && { answer }) };
  return stops.use(await startForwardProxy(options));
}

/** Sends through a proxy. Names have the address above. */
function through(
  { port }: ForwardProxyServer,
  more: Partial<SendRequestOptions> = {},
  ofProxy: Parameters<typeof proxyAt>[1] = {},
) {
  return createSendRequest({
    allowPrivateAddresses: false,
    resolver: resolverTo(ADDRESS),
    ca: a.cert,
    proxy: proxyAt(port, ofProxy),
    ...more,
  });
}

const refusing = (status: string) =>
  start(0, (_, socket) => {
    socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
    return true;
  });

describe('a request through a proxy', () => {
  it('over https goes by a tunnel to the checked address, with a certificate for the name', async () => {
    const server = await start(serve(a));
    const send = through(server);
    expect(await send(post('https://a.example.test/'))).toMatchObject({
      status: 200,
      body: Buffer.from('a.example.test'),
    });
    expect(server.targets()).toEqual([`${ADDRESS}:443`]);
    // The tunnel of the first name is not used for another name at the same address.
    expect(await send(post('https://b.example.test/'))).toEqual({
      result: 'unreachable',
      why: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(await send(post('https://a.example.test/'))).toMatchObject({ status: 200 });
  });

  it('over http has the address in absolute form, and the name as host', async () => {
    const server = await start(serve());
    expect(await through(server)(post('http://hooks.example.test/path?q=1'))).toMatchObject({
      status: 200,
      body: Buffer.from('hooks.example.test'),
    });
    expect(server.targets()).toEqual([`http://${ADDRESS}/path?q=1`]);
  });

  it('has the name if names are passed, and looks nothing up', async () => {
    const server = await start(serve(a));
    const resolver = resolverBy(() => Promise.reject(new Error('not asked')));
    const send = through(server, { resolver }, { passNames: true });
    expect(await send(post('https://a.example.test/'))).toMatchObject({ status: 200 });
    expect(server.targets()).toEqual(['a.example.test:443']);
  });

  it.each([false, true])(
    'is not sent to private addresses, names passed: %p',
    async (passNames) => {
      const server = await start(serve());
      const send = through(server, { resolver: resolverTo('10.1.2.3') }, { passNames });
      const urls = [
        'http://10.0.0.1/',
        'https://[fd00::1]/',
        'http://0x7f000001/',
        'http://localhost/',
      ];
      if (!passNames) urls.push('https://inner.example.test/');
      for (const url of urls) expect((await send(post(url))).result).toBe('not-allowed');
      expect(server.targets()).toEqual([]);
    },
  );

  it.each([
    ['169.254.169.254', false],
    ['fe80::1', false],
    ['169.255.0.1', true],
    ['fe00::1', true],
    ['fe80.example.test', true],
  ])('to %s goes through it: %p', (host, isServed) => {
    const proxy = proxyAt(3128);
    expect(proxy.serves(host)).toBe(isServed);
  });

  it('goes beside it to this machine, and to what needs no proxy', async () => {
    const port = serve();
    const server = await start(serve());
    const open = { allowPrivateAddresses: true, resolver: resolverTo('127.0.0.1') };
    const send = through(server, open, { noProxy: new NoProxy(['direct.test', '127.0.0.0/8']) });
    const names = ['127.0.0.1', 'localhost', 'a.direct.test', 'of-this-machine.test'];
    for (const name of names) {
      expect(await send(post(`http://${name}:${port}/`))).toMatchObject({ status: 200 });
    }
    expect(server.targets()).toEqual([]);
  });

  it('tells a refusal of the proxy from an answer of the server', async () => {
    const server = await refusing('407 Proxy Authentication Required');
    const refused = {
      result: 'unreachable',
      why: `proxy 127.0.0.1:${server.port} answered 407 Proxy Authentication Required`,
      proxyReason: 'proxy-refused',
    } as const;
    expect(await through(server)(post('https://a.example.test/'))).toEqual(refused);
    expect(await through(server)(post('http://a.example.test/'))).toEqual(refused);
    const broken = await refusing('502 Bad Gateway');
    expect(await through(broken)(post('https://a.example.test/'))).toMatchObject({
      why: `proxy 127.0.0.1:${broken.port} answered 502 Bad Gateway`,
    });
  });

  it('tries the next address of the server if the proxy cannot reach one', async () => {
    const to = serve(a);
    const server = await start(to, ({ target }, socket) => {
      if (target !== '1.1.1.1:443') return false;
      socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n');
      return true;
    });
    const send = through(server, { resolver: resolverTo('1.1.1.1', ADDRESS) });
    expect(await send(post('https://a.example.test/'))).toMatchObject({ status: 200 });
    expect(server.targets()).toEqual(['1.1.1.1:443', `${ADDRESS}:443`]);
  });

  it('is unreachable if the proxy is, and says so also if the proxy hangs', async () => {
    const send = createSendRequest({
      allowPrivateAddresses: false,
      resolver: resolverTo(ADDRESS),
      proxy: proxyAt(1),
    });
    expect(await send(post('https://a.example.test/'))).toEqual({
      result: 'unreachable',
      why: 'proxy 127.0.0.1:1: ECONNREFUSED',
      proxyReason: 'proxy-unreachable',
    });
    const hanging = await start(0, () => true);
    const timeoutMs = 400;
    for (const scheme of ['https', 'http']) {
      expect(await through(hanging)(post(`${scheme}://a.example.test/`, { timeoutMs }))).toEqual({
        result: 'unreachable',
        why: `proxy 127.0.0.1:${hanging.port}: timeout`,
        proxyReason: 'proxy-unreachable',
      });
    }
  });

  it('has timed out if the proxy answers and the server hangs', async () => {
    const server = await start(0, ({ method }, socket) => {
      if (method === 'CONNECT') socket.write('HTTP/1.1 200 OK\r\n\r\n');
      return true;
    });
    expect(await through(server)(post('https://a.example.test/', { timeoutMs: 400 }))).toEqual({
      result: 'timeout',
    });
  });
});

it('a request without a proxy ignores those of the environment', async () => {
  const port = serve();
  const trap = await start(port);
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'];
  for (const name of names) {
    const before = process.env[name];
    stops.defer(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
    process.env[name] = `http://127.0.0.1:${trap.port}`;
  }
  const send = createSendRequest({
    allowPrivateAddresses: true,
    resolver: resolverTo('127.0.0.1'),
  });
  expect(await send(post(`http://hooks.example.test:${port}/`))).toMatchObject({ status: 200 });
  expect(trap.targets()).toEqual([]);
});

describe('a request to a certificate authority', () => {
  it('goes through the proxy by its name, and beside it to this machine', async () => {
    const port = serve(a);
    const server = await start(port);
    const { signal } = new AbortController();
    const init = { signal, timeoutMs: 5_000, tls: { ca: a.cert } };
    const get = (proxyPort: number, url: string) =>
      fetchByName(proxyAt(proxyPort), new URL(url), init);
    expect(await (await get(server.port, 'https://a.example.test/')).text()).toBe('a.example.test');
    expect(server.targets()).toEqual(['a.example.test:443']);
    expect(get(1, 'https://a.example.test/')).rejects.toMatchObject({
      code: 'proxy 127.0.0.1:1: ECONNREFUSED',
    });
    expect(get(server.port, `https://localhost:${port}/`)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    expect(server.targets()).toHaveLength(1);
  });

  it('names the proxy that hangs, and not one that answers for a server that hangs', async () => {
    const init = { signal: new AbortController().signal, timeoutMs: 400 };
    const get = ({ port }: { readonly port: number }) =>
      fetchByName(proxyAt(port), new URL('https://a.example.test/'), init);
    const hanging = await start(0, () => true);
    await expect(get(hanging)).rejects.toMatchObject({
      code: `proxy 127.0.0.1:${hanging.port}: timeout`,
    });
    const answering = await start(0, ({ method }, socket) => {
      if (method === 'CONNECT') socket.write('HTTP/1.1 200 OK\r\n\r\n');
      return true;
    });
    await expect(get(answering)).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
