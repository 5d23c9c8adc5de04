/**
 * What the realtime loops of a process tell each other in shared memory: counts, and marks. All counts wrap around at 2^32, so only
 * differences between them mean something.
 */
export class LoopCounts {
  private readonly loops: number;
  /** Messages that have been handled, by sender and receiver. */
  private readonly handled: Int32Array<SharedArrayBuffer>;
  /** Batches that have been posted, by sender and receiver. */
  private readonly posted: Int32Array<SharedArrayBuffer>;
  /** Tickets that were drawn, by receiver. */
  private readonly tickets: Int32Array<SharedArrayBuffer>;
  /** Whether a loop waits for others, by loop. */
  private readonly congested: Int32Array<SharedArrayBuffer>;
  /** Changes of the list of apps, by loop. */
  private readonly changes: Int32Array<SharedArrayBuffer>;

  /** `memory` was made with `shareLoopCounts` for this many loops. */
  constructor(memory: SharedArrayBuffer, loops: number) {
    const pairs = loops * loops;
    let at = 0;
    const next = (length: number) => {
      const counts = new Int32Array(memory, at, length);
      at += length * Int32Array.BYTES_PER_ELEMENT;
      return counts;
    };
    this.loops = loops;
    this.handled = next(pairs);
    this.posted = next(pairs);
    this.tickets = next(loops);
    this.congested = next(loops);
    this.changes = next(loops);
  }

  /** The messages from one loop to another that have been handled. */
  handledOf(from: number, to: number): number {
    return Atomics.load(this.handled, from * this.loops + to);
  }

  addHandled(from: number, to: number, messages: number): void {
    Atomics.add(this.handled, from * this.loops + to, messages);
  }

  /** The batches from one loop to another that can be taken. */
  postedOf(from: number, to: number): number {
    return Atomics.load(this.posted, from * this.loops + to);
  }

  /** Called after a batch was posted. */
  addPosted(from: number, to: number): void {
    Atomics.add(this.posted, from * this.loops + to, 1);
  }

  /** Returns the number of the next batch to a loop. A batch that was posted before has a smaller one. */
  drawTicket(to: number): number {
    return Atomics.add(this.tickets, to, 1);
  }

  /** Whether a loop waits for others that cannot keep up with it. */
  isCongested(loop: number): boolean {
    return Atomics.load(this.congested, loop) !== 0;
  }

  setCongested(loop: number, isCongested: boolean): void {
    Atomics.store(this.congested, loop, isCongested ? 1 : 0);
  }

  /** Called when a loop serves the next list of apps. All loops get the same lists. */
  appsChanged(loop: number): void {
    Atomics.add(this.changes, loop, 1);
  }

  /** Whether two loops serve the same list of apps. */
  haveSameApps(one: number, other: number): boolean {
    return Atomics.load(this.changes, one) === Atomics.load(this.changes, other);
  }
}

/** Allocates the memory for the counts of this many loops. */
export function shareLoopCounts(loops: number): SharedArrayBuffer {
  return new SharedArrayBuffer((2 * loops * loops + 3 * loops) * Int32Array.BYTES_PER_ELEMENT);
}
