import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Random } from '../random.ts';

/** How long something is late. Milliseconds. */
const LATE_MAX_MS = 150;

/** Up to where a response is cut. Bytes. */
const CUT_MAX = 3000;

/** What happens to a request, by chance. */
const FATES = [
  'request cut',
  'response cut',
  'request late',
  'response late',
  /** The network sends it twice. The client gets the answer to the first. */
  'sent twice',
  /** The answer is lost, and the client sends it again: browsers do so where a reused connection breaks. */
  'repeated',
] as const;

type Fate = (typeof FATES)[number];

export interface CuttingProxyOptions {
  readonly targetPort: number;
  readonly random: Random;
  /** The probability that something happens to a request. */
  readonly trouble: number;
}

/**
 * Forwards HTTP requests to a server of a test, one per connection, and cuts, delays and repeats some of them at random
 * bytes. The head of a send always arrives: of a message of which the server sees nothing, nobody can know.
 */
export class CuttingProxy implements AsyncDisposable {
  /** Whether everything goes through from now on. */
  isCalm = false;
  readonly fates = new Map<Fate, number>();
  private readonly options: CuttingProxyOptions;
  private readonly listener: Server;
  private readonly sockets = new Set<Socket>();

  private constructor(options: CuttingProxyOptions) {
    this.options = options;
    this.listener = createServer((client) => this.accept(client));
  }

  static async start(options: CuttingProxyOptions): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(options);
    await new Promise<void>((resolve) => proxy.listener.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.listener.address();
    return typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.listener.close(resolve));
  }

  private accept(client: Socket): void {
    this.watch(client);
    let request = Buffer.alloc(0);
    const collect = (bytes: Buffer) => {
      request = Buffer.concat([request, bytes]);
      const bodyAt = request.indexOf('\r\n\r\n') + 4;
      if (bodyAt < 4) return;
      const length = /^content-length: *(\d+)/im.exec(request.toString('latin1', 0, bodyAt))?.[1];
      if (request.length < bodyAt + Number(length ?? 0)) return;
      client.off('data', collect);
      this.forward(client, request, bodyAt);
    };
    client.on('data', collect);
  }

  private forward(client: Socket, request: Buffer, bodyAt: number): void {
    const { random } = this.options;
    const fate = this.drawFate();
    const lateMs = random.between(1, LATE_MAX_MS);
    switch (fate) {
      case undefined:
        this.exchange(client, request);
        return;
      case 'request cut': {
        const isSend = request.includes('/xhr_send?');
        const bytes = random.between(isSend ? bodyAt : 0, request.length - 1);
        this.connect().end(request.subarray(0, bytes));
        client.destroy();
        return;
      }
      case 'response cut':
        this.exchange(client, request, { cutAfter: random.between(0, CUT_MAX) });
        return;
      case 'request late':
        setTimeout(() => this.exchange(client, request), lateMs);
        return;
      case 'response late':
        this.exchange(client, request, { lateMs });
        return;
      case 'sent twice':
        this.exchange(client, request);
        setTimeout(() => this.loseAnswer(request), lateMs);
        return;
      case 'repeated':
        this.loseAnswer(request);
        setTimeout(() => this.exchange(client, request), lateMs);
        return;
      default:
        fate satisfies never;
    }
  }

  private drawFate(): Fate | undefined {
    const { random, trouble } = this.options;
    if (this.isCalm || !random.chance(trouble)) return undefined;
    const fate = random.pick(FATES);
    this.fates.set(fate, (this.fates.get(fate) ?? 0) + 1);
    return fate;
  }

  /** Sends a request, and passes the answer to the client; each end of the one is the end of the other. */
  private exchange(
    client: Socket,
    request: Buffer,
    { cutAfter = Number.POSITIVE_INFINITY, lateMs = 0 } = {},
  ): void {
    const target = this.connect(client);
    target.write(request);
    let left = cutAfter;
    let answered = Promise.resolve();
    const inOrder = (run: () => void) => {
      const due = lateMs === 0 ? undefined : Bun.sleep(lateMs);
      answered = answered.then(() => due).then(run);
    };
    target.on('data', (bytes: Buffer) => {
      inOrder(() => {
        client.write(bytes.subarray(0, left));
        left -= bytes.length;
        if (left > 0) return;
        client.destroy();
        target.destroy();
      });
    });
    target.on('close', () => inOrder(() => client.end()));
  }

  /** Sends a request whose answer nobody gets; breaks it after a while. */
  private loseAnswer(request: Buffer): void {
    const target = this.connect();
    target.write(request);
    target.resume();
    setTimeout(() => target.destroy(), this.options.random.between(1, LATE_MAX_MS));
  }

  private connect(client?: Socket): Socket {
    const target = connect(this.options.targetPort, '127.0.0.1');
    this.watch(target);
    client?.on('close', () => target.destroy());
    return target;
  }

  private watch(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
  }
}
