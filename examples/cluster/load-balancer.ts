import { connect, createServer, type Server, type Socket } from 'node:net';

/** A server that connections are passed on to. */
export interface Target {
  readonly number: number;
  readonly port: number;
}

/** The server names the connection in its first frame, as text within JSON. */
const SOCKET_ID = /socket_id\\":\\"(\d+\.\d+)/;
/** The handshake and that frame are shorter. */
const HEAD_CHARACTERS_MAX = 4000;

/** A load balancer for TCP: gives each connection to the next server that is up, and remembers which one has it. */
export class LoadBalancer implements AsyncDisposable {
  private readonly targets: () => readonly Target[];
  private readonly listener: Server;
  private readonly open = new Set<Socket>();
  /** Which server has a connection, by its socket id. */
  private readonly serverOf = new Map<string, number>();
  private turn = 0;

  private constructor(targets: () => readonly Target[]) {
    this.targets = targets;
    this.listener = createServer((client) => this.accept(client));
  }

  /** Listens on a port; 0 takes any. `targets` returns the servers that are up now. */
  static async start(port: number, targets: () => readonly Target[]): Promise<LoadBalancer> {
    const balancer = new LoadBalancer(targets);
    await new Promise<void>((resolve, reject) => {
      balancer.listener.once('error', reject);
      balancer.listener.listen(port, '127.0.0.1', resolve);
    });
    return balancer;
  }

  get port(): number {
    const address = this.listener.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Returns the server whose turn it is; `undefined` if none is up. */
  next(): Target | undefined {
    const targets = this.targets();
    this.turn += 1;
    return targets[this.turn % targets.length];
  }

  /** Returns the number of the server that has this WebSocket. */
  numberOf(socketId: string): number | undefined {
    return this.serverOf.get(socketId);
  }

  /** Counts the WebSockets of a server. */
  socketsOf(number: number): number {
    return [...this.serverOf.values()].filter((one) => one === number).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.open) socket.destroy();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private accept(client: Socket): void {
    const target = this.next();
    if (target === undefined) return void client.destroy();
    const server = connect({ host: '127.0.0.1', port: target.port });
    let head = '';
    let socketId: string | undefined;
    const read = (bytes: Buffer) => {
      head += bytes.toString('latin1');
      socketId = SOCKET_ID.exec(head)?.[1];
      if (socketId !== undefined) this.serverOf.set(socketId, target.number);
      if (socketId !== undefined || head.length > HEAD_CHARACTERS_MAX) server.off('data', read);
    };
    server.on('data', read);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.open.add(one);
      one.setNoDelay(true);
      one.pipe(other);
      // The end of one connection is the end of the other.
      one.on('error', () => undefined);
      one.on('close', () => {
        this.open.delete(one);
        other.destroy();
        if (socketId !== undefined) this.serverOf.delete(socketId);
      });
    }
  }
}
