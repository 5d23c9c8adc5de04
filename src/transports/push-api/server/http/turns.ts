import { OldestFirst } from '../../../../runtime/oldest-first.ts';

/** Something that waits for its turn. */
export interface Waiting {
  /** Called when its turn has come: `take` returns true once. */
  goOn(): void;
}

/** How many turns there are in one turn of the event loop. Each costs about 20 µs. */
const TURNS_AT_ONCE = 32;

/** Gives a bounded number of turns in each turn of the event loop, one address after the other. */
export class AddressTurns {
  /** By address; the address to be served next comes first. */
  private readonly waiting = new OldestFirst<string, Set<Waiting>>();
  private taken = 0;
  /** The request whose turn has come. */
  private next: Waiting | undefined;
  private isPlanned = false;

  /** Takes a turn now. Returns `false` if it comes later: then `goOn` is called. */
  take(address: string, one: Waiting): boolean {
    if (this.next === one) {
      this.next = undefined;
      return true;
    }
    this.plan();
    if (this.waiting.size === 0 && this.taken < TURNS_AT_ONCE) {
      this.taken++;
      return true;
    }
    this.waiting.getOrInsertComputed(address, () => new Set()).add(one);
    return false;
  }

  /** No longer wants its turn. */
  leave(address: string, one: Waiting): void {
    const ofAddress = this.waiting.get(address);
    if (ofAddress?.delete(one) === true && ofAddress.size === 0) this.waiting.delete(address);
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      this.taken = 0;
      if (this.waiting.size > 0) this.giveTurns();
    });
  }

  private giveTurns(): void {
    this.plan();
    for (; this.taken < TURNS_AT_ONCE; this.taken++) {
      const address = this.waiting.oldest();
      const ofAddress = address === undefined ? undefined : this.waiting.get(address);
      if (address === undefined || ofAddress === undefined) return;
      const [one] = ofAddress;
      // The address moves to the end of the queue.
      this.waiting.delete(address);
      if (one === undefined) continue;
      ofAddress.delete(one);
      if (ofAddress.size > 0) this.waiting.set(address, ofAddress);
      this.next = one;
      one.goOn();
      this.next = undefined;
    }
  }
}
