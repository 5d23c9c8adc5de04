/**
 * One loop's part of a total that several loops of a process share: how much this one holds, and how much the others hold.
 * Both calls take constant time, and each loop sees the parts of the others at once.
 */
export class SharedTotal {
  private readonly parts: Int32Array<SharedArrayBuffer>;
  private readonly index: number;

  /** `memory` has been made with `shareTotals`. */
  constructor(memory: SharedArrayBuffer, index: number) {
    this.parts = new Int32Array(memory);
    this.index = index;
  }

  /** What the other loops hold. */
  get others(): number {
    let sum = 0;
    for (let index = 0; index < this.parts.length; index++) {
      if (index !== this.index) sum += Atomics.load(this.parts, index);
    }
    return sum;
  }

  /** Sets what this loop holds. */
  set(amount: number): void {
    Atomics.store(this.parts, this.index, amount);
  }
}

/** Allocates the memory for a total of this many loops. */
export function shareTotals(loops: number): SharedArrayBuffer {
  return new SharedArrayBuffer(loops * Int32Array.BYTES_PER_ELEMENT);
}
