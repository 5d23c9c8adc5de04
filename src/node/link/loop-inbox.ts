import type { LoopCounts } from './loop-counts.ts';
import type { LoopMessage, LoopPorts } from './messages.ts';
import { takePosted } from './take-posted.ts';

/** Handles messages that another loop sent in one batch. */
export type Receive = (from: number, messages: readonly LoopMessage[]) => void;

/** Messages as they are posted: before the ticket of their batch, or texts without one. */
type PostedBatch = (LoopMessage | number)[] | string;

/** A batch that was taken from its port. */
interface TakenBatch {
  readonly from: number;
  readonly ticket: number;
  /** Those that are not handled yet. */
  messages: readonly LoopMessage[];
}

export interface LoopInboxOptions {
  /** The number of this loop. */
  readonly index: number;
  readonly ports: LoopPorts;
  readonly counts: LoopCounts;
}

/**
 * What other loops have posted to this one.
 *
 * Ports keep the order of each sender, and nothing between senders. Where it matters that a message was posted before another
 * loop posted its own, batches have tickets, and all that has been posted is taken before anything is handled.
 */
export class LoopInbox {
  private readonly index: number;
  private readonly ports: LoopPorts;
  private readonly counts: LoopCounts;
  /** Batches taken so far, by sender. */
  private readonly taken: Int32Array;
  /** Batches with messages that are not handled, in the order of their tickets. */
  private batches: TakenBatch[] = [];
  private receive: Receive = () => undefined;
  private goesAhead: ((message: LoopMessage) => boolean) | undefined;
  private isHandling = false;

  constructor({ index, ports, counts }: LoopInboxOptions) {
    this.index = index;
    this.ports = ports;
    this.counts = counts;
    this.taken = new Int32Array(ports.length);
  }

  /**
   * Starts receiving. Delivers earlier messages first. With `goesAhead`, batches of different loops are handled in the order of
   * posting, and `catchUp` handles the messages that this selects.
   */
  open(receive: Receive, goesAhead?: (message: LoopMessage) => boolean): void {
    this.receive = receive;
    this.goesAhead = goesAhead;
    for (const [from, port] of this.ports.entries()) {
      if (port === undefined) continue;
      port.onmessage = ({ data }: { readonly data: PostedBatch }) => {
        this.add(from, data);
        this.work();
      };
    }
  }

  /** Whether something has been posted that was not taken. */
  get isBehind(): boolean {
    const { counts, index, taken } = this;
    for (let from = 0; from < taken.length; from++) {
      if (from !== index && ((counts.postedOf(from, index) - (taken[from] ?? 0)) | 0) > 0)
        return true;
    }
    return false;
  }

  /**
   * Handles what goes ahead of all that has been posted before this call. The rest is handled when the callback has ended that
   * runs now: it may close connections and send to them, for which this is not the time.
   */
  catchUp(): void {
    const { goesAhead } = this;
    if (goesAhead === undefined || this.isHandling || !this.isBehind) return;
    this.isHandling = true;
    try {
      this.takeAll();
      for (const batch of this.batches) {
        const ahead = batch.messages.filter(goesAhead);
        if (ahead.length === 0) continue;
        batch.messages =
          ahead.length === batch.messages.length
            ? []
            : batch.messages.filter((message) => !goesAhead(message));
        this.hand(batch.from, ahead);
      }
    } finally {
      this.isHandling = false;
    }
    this.batches = this.batches.filter(({ messages }) => messages.length > 0);
    if (this.batches.length > 0) queueMicrotask(() => this.work());
  }

  /** Handles all that has been posted. */
  private work(): void {
    if (this.isHandling) return;
    this.isHandling = true;
    try {
      if (this.goesAhead !== undefined) this.takeAll();
      const { batches } = this;
      this.batches = [];
      for (const { from, messages } of batches) this.hand(from, messages);
    } finally {
      this.isHandling = false;
    }
  }

  private hand(from: number, messages: readonly LoopMessage[]): void {
    this.receive(from, messages);
    this.counts.addHandled(from, this.index, messages.length);
  }

  /** Takes all batches, until there are none: then everything is here that was posted before one of them. */
  private takeAll(): void {
    for (let isNew = true; isNew; ) {
      isNew = false;
      for (const [from, port] of this.ports.entries()) {
        if (port !== undefined && this.takeFrom(from, port)) isNew = true;
      }
      // Of one sender, nothing can come before what was taken.
      if (this.ports.length === 2) break;
    }
    if (this.batches.length > 1 && this.ports.length > 2) {
      this.batches.sort((a, b) => (a.ticket - b.ticket) | 0);
    }
  }

  private takeFrom(from: number, port: MessagePort): boolean {
    let isNew = false;
    while (((this.counts.postedOf(from, this.index) - (this.taken[from] ?? 0)) | 0) > 0) {
      const received = takePosted(port);
      if (received === undefined) break;
      this.add(from, received.message as PostedBatch);
      isNew = true;
    }
    return isNew;
  }

  private add(from: number, batch: PostedBatch): void {
    this.taken[from] = (this.taken[from] ?? 0) + 1;
    if (typeof batch === 'string') {
      this.batches.push({ from, ticket: 0, messages: [batch] });
      return;
    }
    const ticket = batch.pop() as number;
    this.batches.push({ from, ticket, messages: batch as LoopMessage[] });
  }
}
