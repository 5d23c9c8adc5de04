/** One side of a forwarded connection: what the system has not taken yet, and what follows it. */
class Side {
  socket: Pick<Bun.Socket, 'write' | 'shutdown' | 'end' | 'resume'> | undefined;
  private readonly unsent: Uint8Array[] = [];
  private isEnding = false;
  private isClosing = false;

  /** Sends bytes. Returns whether the system has taken them all. */
  write(bytes: Uint8Array): boolean {
    this.unsent.push(bytes);
    return this.flush();
  }

  /** Ends this direction after what was written. */
  end(): void {
    this.isEnding = true;
    this.flush();
  }

  /** Closes the connection after what was written. */
  close(): void {
    this.isClosing = true;
    this.flush();
  }

  /** Returns whether everything is sent. */
  flush(): boolean {
    const { socket, unsent } = this;
    if (socket === undefined) return false;
    for (let bytes = unsent[0]; bytes !== undefined; bytes = unsent[0]) {
      const sent = socket.write(bytes);
      if (sent < 0) return true; // It is closed, and `close` is called for it.
      if (sent < bytes.length) {
        unsent[0] = bytes.subarray(sent);
        return false;
      }
      unsent.shift();
    }
    if (this.isClosing) socket.end();
    else if (this.isEnding) socket.shutdown();
    return true;
  }
}

/** A forwarded connection. */
interface Pair {
  readonly client: Side;
  readonly server: Side;
}

/**
 * A load balancer of tests: gives the connections to one port to several ports in turn. A server sees the address of the
 * client, because all of 127.0.0.0/8 are addresses of this machine.
 */
export class RoundRobin implements Disposable {
  /** The ports that connections go to. */
  targets: readonly number[] = [];
  private next = 0;
  private readonly listener: Bun.TCPSocketListener<Pair>;

  constructor() {
    this.listener = Bun.listen<Pair>({
      hostname: '127.0.0.1',
      port: 0,
      allowHalfOpen: true,
      socket: {
        open: (socket) => this.accept(socket),
        data(from, bytes) {
          if (!from.data.server.write(bytes)) from.pause();
        },
        drain({ data: { client, server } }) {
          if (client.flush()) server.socket?.resume();
        },
        end: ({ data: { server } }) => server.end(),
        close: ({ data: { server } }) => server.close(),
        error: ({ data: { server } }) => server.close(),
      },
    });
  }

  get port(): number {
    return this.listener.port;
  }

  [Symbol.dispose](): void {
    this.listener.stop(true);
  }

  private accept(socket: Bun.Socket<Pair>): void {
    const client = new Side();
    const server = new Side();
    client.socket = socket;
    socket.data = { client, server };
    const port = this.targets[this.next++ % this.targets.length] ?? 0;
    Bun.connect({
      hostname: '127.0.0.1',
      port,
      ...{ localAddress: socket.remoteAddress },
      allowHalfOpen: true,
      socket: {
        open(opened) {
          server.socket = opened;
          if (server.flush()) socket.resume();
        },
        data(from, bytes) {
          if (!client.write(bytes)) from.pause();
        },
        drain() {
          if (server.flush()) socket.resume();
        },
        end: () => client.end(),
        close: () => client.close(),
        error: () => client.close(),
      },
    }).catch(() => client.close());
  }
}
