import type { LoopMessage, LoopPorts } from './messages.ts';

/** If messages were posted less than this before, further ones wait for the end of the turn. Milliseconds. */
const PAUSE_MS = 0.5;

/** Handles messages that another loop sent in one batch. */
type Receive = (from: number, messages: readonly LoopMessage[]) => void;

export interface LoopLinksOptions {
  /** The number of this loop. Loop 0 runs on the main thread. */
  readonly index: number;
  readonly ports: LoopPorts;
  /** The memory in which all loops count handled messages; see `createHandledCounts`. */
  readonly handled: SharedArrayBuffer;
}

/**
 * The links from one realtime loop to the others of this process.
 *
 * Messages to one loop arrive in the order of sending. Under load, all messages of one turn of the event loop are
 * posted as one array, because posting them one by one costs 2.6 times as much. After a pause they are posted at the
 * end of the callback that sent them: at the end of the turn, this loop writes to its own connections, which takes
 * milliseconds for a large channel, and meanwhile the other loop can write to its own. With a single loop there is
 * nothing to send.
 *
 * Texts in a row become one text, and if that is all, it is posted without an array: the runtime does not copy it.
 */
export class LoopLinks implements Disposable {
  readonly index: number;
  private readonly ports: LoopPorts;
  /** Messages to post, by loop. */
  private readonly batches: LoopMessage[][];
  private isFlushPending = false;
  private postedAtMs = Number.NEGATIVE_INFINITY;
  /** Messages sent so far, by loop. Wraps around at 2^32, as `handled` does. */
  private readonly sent: Int32Array;
  /** Handled messages by sender and receiver. */
  private readonly handled: Int32Array<SharedArrayBuffer>;

  constructor({ index, ports, handled }: LoopLinksOptions) {
    this.index = index;
    this.ports = ports;
    this.batches = ports.map(() => []);
    this.sent = new Int32Array(ports.length);
    this.handled = new Int32Array(handled);
  }

  /** The number of realtime loops. */
  get count(): number {
    return this.ports.length;
  }

  /**
   * Sends a message to another loop at the end of this callback or turn. The message is copied then, so it must not
   * be changed after this call.
   */
  send(loop: number, message: LoopMessage): void {
    if (this.ports[loop] === undefined)
      throw new Error(`Loop ${this.index} has no link to ${loop}`);
    const batch = this.batches[loop] ?? [];
    const last = batch.at(-1);
    if (typeof message === 'string' && typeof last === 'string') {
      batch[batch.length - 1] = last + message;
      return;
    }
    batch.push(message);
    this.sent[loop] = (this.sent[loop] ?? 0) + 1;
    if (this.isFlushPending) return;
    this.isFlushPending = true;
    const flush = () => this.flush();
    if (performance.now() - this.postedAtMs < PAUSE_MS) setImmediate(flush);
    else queueMicrotask(flush);
  }

  /**
   * How many messages another loop has not handled yet. There is no limit here: senders must stop in time if the
   * other loop is slower than they are.
   */
  backlog(loop: number): number {
    const handled = Atomics.load(this.handled, this.placeOf(this.index, loop));
    return ((this.sent[loop] ?? 0) - handled) | 0;
  }

  /** Sends a message to every other loop. */
  sendToAll(message: LoopMessage): void {
    for (const loop of this.ports.keys()) {
      if (loop !== this.index) this.send(loop, message);
    }
  }

  /** Starts receiving. Delivers earlier messages first. */
  receive(receive: Receive): void {
    for (const [from, port] of this.ports.entries()) {
      if (port === undefined) continue;
      port.onmessage = ({ data }: { readonly data: readonly LoopMessage[] | string }) => {
        const messages = typeof data === 'string' ? [data] : data;
        receive(from, messages);
        Atomics.add(this.handled, this.placeOf(from, this.index), messages.length);
      };
    }
  }

  /** Sends queued messages, and closes the ports. */
  [Symbol.dispose](): void {
    this.flush();
    for (const port of this.ports) port?.close();
  }

  private placeOf(from: number, to: number): number {
    return from * this.count + to;
  }

  private flush(): void {
    this.isFlushPending = false;
    this.postedAtMs = performance.now();
    for (const [loop, batch] of this.batches.entries()) {
      if (batch.length === 0) continue;
      const [first] = batch;
      this.ports[loop]?.postMessage(
        batch.length === 1 && typeof first === 'string' ? first : batch,
      );
      this.batches[loop] = [];
    }
  }
}

/** Links each loop with each other loop. Returns the ports of each. */
export function linkLoops(count: number): LoopPorts[] {
  const ports = Array.from({ length: count }, () =>
    new Array<MessagePort | undefined>(count).fill(undefined),
  );
  for (const [a, portsOfA] of ports.entries()) {
    for (const [b, portsOfB] of ports.entries()) {
      if (b <= a) continue;
      const { port1, port2 } = new MessageChannel();
      portsOfA[b] = port1;
      portsOfB[a] = port2;
    }
  }
  return ports;
}

/** Allocates the memory in which this many loops count handled messages. */
export function createHandledCounts(loops: number): SharedArrayBuffer {
  return new SharedArrayBuffer(loops * loops * Int32Array.BYTES_PER_ELEMENT);
}
