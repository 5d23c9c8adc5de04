import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Random } from '../random.ts';

/** The bytes after which a connection breaks, at least and at most. */
type Life = readonly [least: number, most: number];

/** How long the rest may take to be written. */
const END_MS = 100;

/** Until it tries again to reach a server that is not there. */
const RETRY_MS = 20;

export interface ByteCuttingProxyOptions {
  readonly targetPort: number;
  readonly random: Random;
  /** The life of what the server sends. */
  readonly received: Life;
  /** The life of what the client sends. */
  readonly sent: Life;
}

/** Forwards TCP connections to a server of a test, and breaks each after a random number of bytes, in the middle of a frame too. */
export class ByteCuttingProxy implements AsyncDisposable {
  /** Whether new connections live for ever. */
  isCalm = true;
  /** Connections that it has broken. */
  cuts = 0;
  private readonly options: ByteCuttingProxyOptions;
  private readonly listener: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(options: ByteCuttingProxyOptions) {
    this.options = options;
    this.listener = createServer((client) => this.accept(client));
  }

  static async start(options: ByteCuttingProxyOptions): Promise<ByteCuttingProxy> {
    const proxy = new ByteCuttingProxy(options);
    await new Promise<void>((resolve) => proxy.listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.listener.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Breaks all connections now. */
  cutAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  /** Holds a client until the server is there, as it may be between a stop and a start. */
  private accept(client: Socket): void {
    this.sockets.add(client);
    client.on('error', () => undefined);
    client.on('close', () => this.sockets.delete(client));
    const attempt = () => {
      if (client.destroyed) return;
      const server = connect(this.options.targetPort, '127.0.0.1');
      const again = () => setTimeout(attempt, RETRY_MS);
      server.once('error', again);
      server.once('connect', () => {
        server.off('error', again);
        this.carry(server, client, this.lifeOf('received'));
        this.carry(client, server, this.lifeOf('sent'));
      });
    };
    attempt();
  }

  private lifeOf(direction: 'received' | 'sent'): number {
    return this.isCalm
      ? Number.POSITIVE_INFINITY
      : this.options.random.between(...this.options[direction]);
  }

  /** Passes bytes on until `life` of them are through; then the other side gets no more, and both are closed. */
  private carry(from: Socket, to: Socket, life: number): void {
    let left = life;
    this.sockets.add(from);
    from.setNoDelay(true);
    from.on('error', () => undefined);
    from.on('close', () => {
      this.sockets.delete(from);
      to.destroy();
    });
    from.on('data', (bytes: Buffer) => {
      if (left <= 0) return;
      if (bytes.length < left) {
        left -= bytes.length;
        if (!to.write(bytes)) {
          from.pause();
          to.once('drain', () => from.resume());
        }
        return;
      }
      this.cuts++;
      // What is written before `end` still arrives, so the last frame arrives in part.
      const destroyBoth = () => {
        to.destroy();
        from.destroy();
      };
      to.end(bytes.subarray(0, left), destroyBoth);
      // A socket that cannot be ended calls nobody.
      setTimeout(destroyBoth, END_MS);
      left = 0;
    });
  }
}
