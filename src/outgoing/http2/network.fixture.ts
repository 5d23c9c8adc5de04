import type { OpenWire, WireTarget } from './connecting/open-wire.ts';
import type { WireListener } from './connecting/wire.ts';
import { Peer } from './peer.fixture.ts';

/** The far end of a connection in memory. */
export class FakeLine extends Peer {
  readonly target: WireTarget;
  isClosed = false;
  /** Reports backpressure to the client. */
  isFull = false;
  private collector: ((bytes: Buffer) => void) | undefined;
  private readonly listener: () => WireListener | undefined;

  constructor(target: WireTarget, listener: () => WireListener | undefined) {
    super((bytes) => {
      if (this.collector !== undefined) return this.collector(bytes);
      // Like a real socket, it never delivers within a call.
      queueMicrotask(() => this.isClosed || listener()?.onBytes(bytes));
    });
    this.target = target;
    this.listener = listener;
  }

  /** Ends the connection for the client. */
  cut(why = 'ECONNRESET'): void {
    if (this.isClosed) return;
    this.isClosed = true;
    queueMicrotask(() => this.listener()?.onClose(why));
  }

  /** Sends raw bytes. */
  sendRaw(bytes: Buffer): void {
    queueMicrotask(() => this.listener()?.onBytes(bytes));
  }

  /** Passes all further bytes to `take` until the returned function is called. */
  collecting(take: (bytes: Buffer) => void): () => void {
    this.collector = take;
    return () => {
      this.collector = undefined;
    };
  }

  drain(): void {
    this.isFull = false;
    queueMicrotask(() => this.listener()?.onDrain());
  }
}

/** A network in memory: accepts connections of a client. */
export class FakeNetwork {
  readonly lines: FakeLine[] = [];
  /** Called for each new connection. */
  onOpen: (line: FakeLine) => void = (line) => line.sendSettings();
  /** Makes further attempts fail. */
  failure: { readonly why: string; readonly noHttp2?: boolean } | undefined;
  attempts: WireTarget[] = [];

  readonly openWire: OpenWire = async (target, attach) => {
    this.attempts.push(target);
    await Promise.resolve();
    if (this.failure !== undefined) return { ok: false, noHttp2: false, ...this.failure };
    let listener: WireListener | undefined;
    const line = new FakeLine(target, () => listener);
    listener = attach({
      write(bytes) {
        queueMicrotask(() => line.receive(bytes));
        return !line.isFull;
      },
      end: () => queueMicrotask(() => line.cut('closed')),
      destroy: () => line.cut('closed'),
    });
    if (listener === undefined) return { ok: false, why: 'not wanted', noHttp2: false };
    this.lines.push(line);
    this.onOpen(line);
    return { ok: true };
  };

  /** The newest connection. */
  get last(): FakeLine {
    const line = this.lines.at(-1);
    if (line === undefined) throw new Error('nothing was opened');
    return line;
  }
}

/** Lets everything run that does not wait for a timer. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}
