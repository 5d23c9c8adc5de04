import { connect, createServer, type Socket } from 'node:net';

/** The ports of this machine by the places that clients connect to, such as `ws-eu.pusher.com:443` or `192.0.2.1:443`. */
export type Names = Readonly<Record<string, number>>;

export interface Socks extends Disposable {
  readonly port: number;
}

/** Source: RFC 1928, 4. */
const IPV4 = 1;

/** A proxy that connects to these places only: SOCKS 5 without authentication (RFC 1928). */
export async function startSocks(names: Names): Promise<Socks> {
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    sockets.add(client);
    client.on('error', () => client.destroy());
    client.on('close', () => sockets.delete(client));
    client.once('data', () => {
      client.write(Uint8Array.of(5, 0));
      client.once('data', (request: Buffer) => {
        const port = names[placeIn(request)];
        if (port === undefined) return void client.end(Uint8Array.of(5, 4, 0, 1, 0, 0, 0, 0, 0, 0));
        const server = connect(port, '127.0.0.1', () => {
          client.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
          client.pipe(server).pipe(client);
        });
        server.on('error', () => client.destroy());
        server.on('close', () => client.destroy());
        client.on('close', () => server.destroy());
      });
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

/** The place that a request names: a host name or an IPv4 address, and a port. */
function placeIn(request: Buffer): string {
  const isAddress = request[3] === IPV4;
  const end = isAddress ? 8 : 5 + (request[4] ?? 0);
  const host = isAddress ? request.subarray(4, end).join('.') : request.toString('latin1', 5, end);
  return `${host}:${request.readUInt16BE(end)}`;
}
