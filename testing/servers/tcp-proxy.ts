import { connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** The first bytes of the client. */
  sent: string;
  isStalled: boolean;
  /** Whether replies were thrown away. TCP loses no part of a stream, so no more follow. */
  hasLostReplies: boolean;
}

/** The first bytes of a client that are kept, to find its connection. */
const SENT_CHARACTERS_MAX = 100_000;

/** Forwards TCP connections to a server of a test, and fails in the ways that networks do. */
export class TcpProxy implements AsyncDisposable {
  /** Chunks that clients have sent. */
  chunks = 0;
  /** Whether replies are thrown away. The connections that it hits carry no replies ever after. */
  doesSwallowReplies = false;
  /** Whether new connections are closed at once. */
  doesRefuse = false;
  /** What it forwards in place of the first bytes of a client; `undefined`: nothing. It may answer the client itself. */
  begin: (first: Buffer, client: Socket) => Buffer | undefined = (first) => first;
  private readonly pairs = new Set<Pair>();
  private readonly listener: Server;
  private isStalled = false;

  private constructor(targetPort: number) {
    this.listener = createServer((client) => this.accept(client, targetPort));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.listener.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Closes all connections. */
  cut(): void {
    for (const { client, server } of this.pairs) {
      client.destroy();
      server.destroy();
    }
  }

  /** Lets nothing through from now on, in neither direction, nor on new connections. */
  stall(): void {
    this.isStalled = true;
    for (const pair of this.pairs) setStalled(pair, true);
  }

  /** Stalls the connections whose client has sent a text. */
  stallThoseThatSent(text: string): void {
    for (const pair of this.pairs) if (pair.sent.includes(text)) setStalled(pair, true);
  }

  /** Throws away all further replies on the connections whose client has sent a text. */
  loseRepliesOfThoseThatSent(text: string): void {
    for (const pair of this.pairs) if (pair.sent.includes(text)) pair.hasLostReplies = true;
  }

  /** Lets everything through that was held back. */
  resume(): void {
    this.isStalled = false;
    for (const pair of this.pairs) setStalled(pair, false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private accept(client: Socket, targetPort: number): void {
    if (this.doesRefuse) return void client.destroy();
    const server = connect({ host: '127.0.0.1', port: targetPort });
    const pair: Pair = { client, server, sent: '', isStalled: false, hasLostReplies: false };
    this.pairs.add(pair);
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on('data', (received: Buffer) => {
      this.chunks += 1;
      const bytes = pair.sent === '' ? this.begin(received, client) : received;
      if (bytes === undefined) return;
      if (pair.sent.length < SENT_CHARACTERS_MAX) pair.sent += bytes.toString('latin1');
      if (!server.write(bytes)) {
        client.pause();
        server.once('drain', () => pair.isStalled || client.resume());
      }
    });
    server.on('data', (bytes: Buffer) => this.answer(pair, bytes));
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => {
        other.destroy();
        this.pairs.delete(pair);
      });
    }
    if (this.isStalled) setStalled(pair, true);
  }

  private answer(pair: Pair, bytes: Buffer): void {
    pair.hasLostReplies ||= this.doesSwallowReplies;
    if (pair.hasLostReplies) return;
    const { client, server } = pair;
    if (client.destroyed || client.write(bytes)) return;
    server.pause();
    client.once('drain', () => pair.isStalled || server.resume());
  }
}

function setStalled(pair: Pair, isStalled: boolean): void {
  pair.isStalled = isStalled;
  for (const socket of [pair.client, pair.server]) {
    if (isStalled) socket.pause();
    else socket.resume();
  }
}
