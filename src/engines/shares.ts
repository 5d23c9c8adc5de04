/** A realtime loop, by its number. */
export type Loop = number;

/**
 * What each loop holds of one thing, as stated by the loops. There is an object of this kind for each channel and
 * each member, so the usual case of a single loop needs no map.
 */
export class Shares {
  private loop: Loop = 0;
  private held = 0;
  /** All loops, if there is more than one. */
  private byLoop: Map<Loop, number> | undefined;

  get total(): number {
    if (this.byLoop === undefined) return this.held;
    let total = 0;
    for (const held of this.byLoop.values()) total += held;
    return total;
  }

  /** What all loops but one hold. */
  totalBut(loop: Loop): number {
    if (this.byLoop !== undefined) return this.total - (this.byLoop.get(loop) ?? 0);
    return loop === this.loop ? 0 : this.held;
  }

  /** Sets what a loop holds from now on. */
  state(loop: Loop, held: number): void {
    if (this.byLoop !== undefined) {
      if (held === 0) this.byLoop.delete(loop);
      else this.byLoop.set(loop, held);
    } else if (loop === this.loop || this.held === 0) {
      this.loop = loop;
      this.held = held;
    } else if (held > 0) {
      this.byLoop = new Map([
        [this.loop, this.held],
        [loop, held],
      ]);
    }
  }

  /** Calls `each` for every loop that holds anything. */
  forEachLoop(each: (loop: Loop) => void): void {
    if (this.byLoop === undefined) {
      if (this.held > 0) each(this.loop);
      return;
    }
    for (const loop of this.byLoop.keys()) each(loop);
  }
}
