import { connect, createServer, type Socket } from 'node:net';
import { Inbox } from '../inbox.ts';

/** The head of a request that a proxy got. */
export interface ProxiedRequest {
  readonly method: string;
  /** What follows the method: `HOST:PORT` of `CONNECT`, otherwise a URL. */
  readonly target: string;
  /** By name in lower case. */
  readonly fields: Readonly<Record<string, string>>;
}

/** An HTTP proxy on 127.0.0.1 that records what it got. */
export interface ForwardProxyServer extends AsyncDisposable {
  readonly port: number;
  /** In order of arrival. */
  readonly requests: Inbox<ProxiedRequest>;
  readonly targets: () => readonly string[];
  /** Open connections of clients. */
  readonly open: () => number;
  /** Breaks all open connections. */
  cut(): void;
}

export interface ForwardProxyServerOptions {
  /** The port on 127.0.0.1 that stands in for a host and port; `undefined`: the answer is 502. */
  readonly portOf: (host: string, port: number) => number | undefined;
  /** Answers in its own way and returns `true`, or returns `false`. */
  readonly answer?: (request: ProxiedRequest, socket: Socket) => boolean;
}

const HEAD_END = '\r\n\r\n';

/** Starts a proxy that opens tunnels and forwards requests in absolute form. */
export async function startForwardProxy({
  portOf,
  answer = () => false,
}: ForwardProxyServerOptions): Promise<ForwardProxyServer> {
  const requests = new Inbox<ProxiedRequest>('The proxy');
  const targets: string[] = [];
  const sockets = new Set<Socket>();

  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const forward = (request: ProxiedRequest, socket: Socket, first: Buffer) => {
    const isTunnel = request.method === 'CONNECT';
    const { hostname, port } = new URL(isTunnel ? `http://${request.target}` : request.target);
    const to = portOf(hostname.replace(/^\[|\]$/g, ''), Number(port) || 80);
    if (to === undefined) return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    const far = connect({ host: '127.0.0.1', port: to }, () => {
      if (isTunnel) socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      far.write(first);
      socket.pipe(far);
      far.pipe(socket);
    });
    far.on('error', () => socket.destroy());
    far.on('close', () => socket.destroy());
    socket.on('close', () => far.destroy());
  };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let bytes = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf(HEAD_END);
      if (end === -1) return;
      socket.off('data', onData);
      const [line = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
      const [method = '', target = ''] = line.split(' ');
      const fields = Object.fromEntries(
        lines.map((field) => {
          const colon = field.indexOf(':');
          return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
        }),
      );
      const request = { method, target, fields };
      targets.push(target);
      requests.put(request);
      if (answer(request, socket)) return;
      if (method === 'CONNECT') return forward(request, socket, bytes.subarray(end + 4));
      // The server gets the path alone, and one request for each connection.
      const { pathname, search } = new URL(target);
      const kept = lines.filter((field) => !/^(?:proxy-|connection:)/i.test(field));
      const head = [`${method} ${pathname}${search} HTTP/1.1`, ...kept, 'Connection: close'];
      const body = bytes.subarray(end + 4);
      forward(
        request,
        socket,
        Buffer.concat([Buffer.from(`${head.join('\r\n')}${HEAD_END}`), body]),
      );
    };
    socket.on('data', onData);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    requests,
    targets: () => targets,
    open: () => sockets.size,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
