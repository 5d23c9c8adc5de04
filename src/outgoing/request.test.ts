import { afterEach, describe, expect, it } from 'bun:test';
import { createServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { fieldNames, startRawEndpoint } from '../../testing/servers/raw-endpoint.ts';
import { a, b } from './certificates.fixture.ts';
import { createSendRequest, type OutgoingRequest } from './request.ts';
import { resolverBy, resolverTo } from './resolver.fixture.ts';

let stops = new AsyncDisposableStack();
afterEach(async () => {
  await stops.disposeAsync();
  stops = new AsyncDisposableStack();
});

function post(url: string, more: Partial<OutgoingRequest> = {}): OutgoingRequest {
  return {
    url,
    owner: 'app 1',
    headers: { 'content-type': 'application/json' },
    body: '{"a":1}',
    timeoutMs: 5_000,
    answerBytesMax: 1024,
    ...more,
  };
}

/** An HTTP server on 127.0.0.1 that records its requests. */
function serve(answer: (request: Request) => Response | Promise<Response>, tls?: typeof a) {
  const asked: {
    host: string | null;
    headers: Headers;
    body: string;
    url: string;
    client: string;
  }[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    ...(tls && { tls }),
    async fetch(request, { requestIP }) {
      asked.push({
        host: request.headers.get('host'),
        headers: request.headers,
        body: await request.text(),
        url: request.url,
        client: String(requestIP.call(server, request)?.port),
      });
      return answer(request);
    },
  });
  stops.defer(() => server.stop(true));
  return { port: server.port, asked };
}

/** A TCP server with a handler for each connection. */
async function listen(
  serveOne: (socket: Socket) => void,
): Promise<{ port: number; open: () => number; server: Server }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    serveOne(socket);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  stops.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, open: () => sockets.size, server };
}

const to127 = resolverTo('127.0.0.1');
const open = createSendRequest({ allowPrivateAddresses: true, resolver: to127 });

describe('a request to a URL of a tenant', () => {
  it('goes to the address that was looked up, with the name as host', async () => {
    const { port, asked } = serve(() => new Response('thanks', { status: 201 }));
    const answer = await open(post(`http://hooks.example.test:${port}/path?q=1#part`));

    expect(answer).toMatchObject({ result: 'answered', status: 201, body: Buffer.from('thanks') });
    expect(asked[0]?.host).toBe(`hooks.example.test:${port}`);
    expect(asked[0]?.url).toEndWith('/path?q=1');
    expect(asked[0]?.body).toBe('{"a":1}');
    expect(asked[0]?.headers.get('content-type')).toBe('application/json');
  });

  it('sends user and password of the URL as Basic authentication', async () => {
    const { port, asked } = serve(() => new Response());
    await open(post(`http://user:p%40ss@hooks.example.test:${port}/`));
    expect(asked[0]?.headers.get('authorization')).toBe(`Basic ${btoa('user:p@ss')}`);
  });

  it('has the names of its header fields as they are documented', async () => {
    using endpoint = startRawEndpoint();
    const url = new URL(endpoint.url);
    url.username = 'user';
    const headers = {
      'x-pusher-key': 'key',
      'webhook-request-id-uuid': 'id',
      ttl: '60',
      'x-wns-cache-policy': 'cache',
    };
    await open(post(url.href, { headers }));
    expect(fieldNames(await endpoint.heads.next())).toEqual([
      'Accept',
      'Authorization',
      'Connection',
      'Content-Length',
      'Host',
      'TTL',
      'User-Agent',
      'Webhook-Request-ID-UUID',
      'X-Pusher-Key',
      'X-WNS-Cache-Policy',
    ]);
  });

  it('verifies the certificate for the name, not for the address', async () => {
    const { port } = serve(() => new Response('ok'), a);
    const send = createSendRequest({ allowPrivateAddresses: true, resolver: to127, ca: a.cert });
    expect(await send(post(`https://a.example.test:${port}/`))).toMatchObject({ status: 200 });
    expect(await send(post(`https://c.example.test:${port}/`))).toEqual({
      result: 'unreachable',
      why: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    // The pooled connection of the first name is not reused.
    expect(await send(post(`https://127.0.0.1:${port}/`))).toMatchObject({ result: 'unreachable' });
  });

  it('refuses an untrusted certificate', async () => {
    const { port } = serve(() => new Response('ok'), b);
    const send = createSendRequest({ allowPrivateAddresses: true, resolver: to127, ca: a.cert });
    expect(await send(post(`https://b.example.test:${port}/`))).toMatchObject({
      result: 'unreachable',
    });
  });

  it('tries the next address if one cannot be connected to, IPv4 first', async () => {
    const { port } = serve(() => new Response('ok'));
    const send = createSendRequest({
      allowPrivateAddresses: true,
      resolver: resolverTo('::1', '127.0.0.2', '127.0.0.1'),
    });
    expect(await send(post(`http://hooks.example.test:${port}/`))).toMatchObject({ status: 200 });
  });

  it('is a GET request if it has no body', async () => {
    const methods: string[] = [];
    const { port } = serve(({ method, headers }) => {
      methods.push(`${method} ${headers.get('content-length')}`);
      return new Response('{}');
    });
    const { body: _, ...get } = post(`http://keys.example.test:${port}/`);
    expect(await open(get)).toMatchObject({ result: 'answered', status: 200 });
    expect(methods).toEqual(['GET null']);
  });

  it('may have to use https, but for private addresses', async () => {
    const { port, asked } = serve(() => new Response('{}'));
    const send = (addresses: readonly string[], needsTls = true) =>
      createSendRequest({
        allowPrivateAddresses: true,
        needsTls,
        resolver: resolverTo(...addresses),
      })(post(`http://keys.example.test:${port}/`));
    expect(await send(['127.0.0.1'])).toMatchObject({ result: 'answered' });
    const why = 'http, which only private addresses may have';
    const refused = { result: 'not-allowed', why } as const;
    expect(await send(['1.1.1.1'])).toEqual(refused);
    expect(await send(['127.0.0.1', '1.1.1.1'])).toEqual(refused);
    expect(asked).toHaveLength(1);
    const both = await send(['127.0.0.1', '1.1.1.1'], false);
    expect(both).toMatchObject({ result: 'answered' });
  });

  it('does not follow a redirect', async () => {
    const inner = serve(() => new Response('secret'));
    const { port } = serve(() => Response.redirect(`http://127.0.0.1:${inner.port}/`, 307));
    expect(await open(post(`http://hooks.example.test:${port}/`))).toMatchObject({ status: 307 });
    expect(inner.asked).toEqual([]);
  });
});

describe('the guard', () => {
  const guarded = (addresses: readonly string[]) =>
    createSendRequest({ allowPrivateAddresses: false, resolver: resolverTo(...addresses) });

  it.each([
    'http://127.0.0.1',
    'http://127.1',
    'http://0x7f000001',
    'http://2130706433',
    'http://0177.0.0.1',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[64:ff9b::127.0.0.1]',
    'http://[2002:7f00:1::]',
    'http://0.0.0.0',
    'http://[::]',
    'http://%31%32%37.0.0.1',
    'http://127。0。0。1',
  ])('sends nothing to %s', async (origin) => {
    const { port, asked } = serve(() => new Response('secret'));
    const answer = await guarded([])(post(`${origin}:${port}/`));
    expect(answer.result).toBe('not-allowed');
    expect(asked).toEqual([]);
  });

  it('checks every address of a name', async () => {
    const { port, asked } = serve(() => new Response('secret'));
    const answer = await guarded(['8.8.8.8', '127.0.0.1'])(
      post(`http://hooks.example.test:${port}/`),
    );
    expect(answer).toEqual({
      result: 'not-allowed',
      why: '127.0.0.1 is not a public address (loopback)',
    });
    expect(asked).toEqual([]);
  });

  it('looks a name up once, so DNS rebinding has no effect', async () => {
    const { port } = serve(() => new Response('ok'));
    let asked = 0;
    const send = createSendRequest({
      allowPrivateAddresses: true,
      resolver: resolverBy(async () => (asked++ === 0 ? ['127.0.0.1'] : ['192.0.2.1'])),
    });
    expect(await send(post(`http://hooks.example.test:${port}/`))).toMatchObject({ status: 200 });
    expect(asked).toBe(1);
  });

  it.each(['file:///etc/passwd', 'ftp://8.8.8.8/', 'nonsense'])('refuses %s', async (url) => {
    expect((await open(post(url))).result).toBe('not-allowed');
  });
});

describe('a malicious endpoint', () => {
  it('causes a timeout when it hangs', async () => {
    const { port, open: connections } = await listen(() => undefined);
    const answer = await open(post(`http://hooks.example.test:${port}/`, { timeoutMs: 100 }));
    expect(answer).toEqual({ result: 'timeout' });
    await until(() => connections() === 0);
  });

  it('causes a timeout when its name does not resolve', async () => {
    let asked = 0;
    const send = createSendRequest({
      allowPrivateAddresses: false,
      resolver: resolverBy(() => {
        asked++;
        return new Promise(() => undefined);
      }),
    });
    const request = post('http://hooks.example.test/', { timeoutMs: 50 });
    expect(await Promise.all([send(request), send(request)])).toEqual([
      { result: 'timeout' },
      { result: 'timeout' },
    ]);
    expect(asked).toBe(1);
  });

  it('cannot make us receive a gigabyte', async () => {
    const chunk = Buffer.alloc(65_536, 'x');
    let sent = 0;
    const { port, open: connections } = await listen((socket) => {
      const more = () => {
        while (!socket.destroyed && sent < 2 ** 30) {
          sent += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', more);
        }
      };
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n');
        more();
      });
    });
    const answer = await open(post(`http://hooks.example.test:${port}/`));
    expect(answer).toMatchObject({ status: 200, body: Buffer.alloc(1024, 'x') });
    await until(() => connections() === 0);
    expect(sent).toBeLessThan(64 * 2 ** 20);
  });

  it('cannot make us decompress an answer', async () => {
    const packed = gzipSync(Buffer.alloc(2 ** 20));
    const { port } = serve(() => new Response(packed, { headers: { 'content-encoding': 'gzip' } }));
    const answer = await open(post(`http://hooks.example.test:${port}/`, { answerBytesMax: 4096 }));
    expect(answer).toMatchObject({ status: 200, body: packed });
  });

  it('may stop within its answer: the status counts', async () => {
    const { port } = await listen((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'));
    });
    const answer = await open(post(`http://hooks.example.test:${port}/`, { timeoutMs: 200 }));
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('half') });
  });

  it('is unreachable if it does not answer in HTTP or does not exist', async () => {
    const { port, server } = await listen((socket) => void socket.end('garbage\r\n\r\n'));
    expect((await open(post(`http://hooks.example.test:${port}/`))).result).toBe('unreachable');
    server.close();
    await until(() => !server.listening);
    expect(await open(post(`http://hooks.example.test:${port}/`))).toEqual({
      result: 'unreachable',
      why: 'ECONNREFUSED',
    });
  });

  it('is aborted by the signal of the caller', async () => {
    const { port } = await listen(() => undefined);
    const stop = new AbortController();
    const answer = open(post(`http://hooks.example.test:${port}/`, { signal: stop.signal }));
    stop.abort();
    expect(await answer).toEqual({ result: 'unreachable', why: 'aborted' });
  });
});

async function until(holds: () => boolean): Promise<void> {
  for (let round = 0; !holds(); round++) {
    if (round > 500) throw new Error('it never came to pass');
    await Bun.sleep(5);
  }
}
