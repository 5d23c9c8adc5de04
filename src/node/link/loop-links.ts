import { LoopCounts } from './loop-counts.ts';
import { LoopInbox, type Receive } from './loop-inbox.ts';
import type { LoopMessage, LoopPorts } from './messages.ts';

/** If messages were posted less than this before, further ones wait for the end of the turn. Milliseconds. */
const PAUSE_MS = 0.5;

export interface LoopLinksOptions {
  /** The number of this loop. Loop 0 runs on the main thread. */
  readonly index: number;
  readonly ports: LoopPorts;
  /** The memory of `LoopCounts`. */
  readonly counts: SharedArrayBuffer;
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
  readonly counts: LoopCounts;
  private readonly ports: LoopPorts;
  private readonly inbox: LoopInbox;
  /** Messages to post, by loop. */
  private readonly batches: (LoopMessage | number)[][];
  private isFlushPending = false;
  private postedAtMs = Number.NEGATIVE_INFINITY;
  /** Messages sent so far, by loop. Wraps around at 2^32, as counts of `LoopCounts` do. */
  private readonly sent: Int32Array;

  constructor({ index, ports, counts }: LoopLinksOptions) {
    this.index = index;
    this.counts = new LoopCounts(counts, ports.length);
    this.inbox = new LoopInbox({ index, ports, counts: this.counts });
    this.ports = ports;
    this.batches = ports.map(() => []);
    this.sent = new Int32Array(ports.length);
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
    return ((this.sent[loop] ?? 0) - this.counts.handledOf(this.index, loop)) | 0;
  }

  /** Sends a message at once, behind those that wait for the end of this callback or turn. */
  post(loop: number, message: LoopMessage): void {
    this.batches[loop]?.push(message);
    this.sent[loop] = (this.sent[loop] ?? 0) + 1;
    this.flushTo(loop);
  }

  /** See `LoopInbox.open`. */
  receive(receive: Receive, goesAhead?: (message: LoopMessage) => boolean): void {
    this.inbox.open(receive, goesAhead);
  }

  /** Whether other loops have posted something that this one has not handled. */
  get isBehind(): boolean {
    return this.inbox.isBehind;
  }

  /** See `LoopInbox.catchUp`. */
  catchUp(): void {
    this.inbox.catchUp();
  }

  /** Sends a message to every other loop. */
  sendToAll(message: LoopMessage): void {
    for (const loop of this.ports.keys()) {
      if (loop !== this.index) this.send(loop, message);
    }
  }

  /** Sends queued messages, and closes the ports. */
  [Symbol.dispose](): void {
    this.flush();
    for (const port of this.ports) port?.close();
  }

  private flush(): void {
    this.isFlushPending = false;
    this.postedAtMs = performance.now();
    for (const loop of this.batches.keys()) this.flushTo(loop);
  }

  /** Sends at once what waits for the end of this callback or turn. */
  flushTo(loop: number): void {
    const batch = this.batches[loop] ?? [];
    if (batch.length === 0) return;
    this.batches[loop] = [];
    const [first] = batch;
    const isText = batch.length === 1 && typeof first === 'string';
    if (!isText) batch.push(this.counts.drawTicket(loop));
    this.ports[loop]?.postMessage(isText ? first : batch);
    this.counts.addPosted(this.index, loop);
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
