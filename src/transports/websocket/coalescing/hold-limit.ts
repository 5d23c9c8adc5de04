/** How long publishes may wait in all. Milliseconds. */
const MS_MIN = 8;

/** And while the loop cannot keep up: half of what `overload` of the benchmark allows. Milliseconds. */
const MS_MAX = 50;

/** So many times in a row they would have waited on before they may wait longer. */
const IN_A_ROW = 4;
const FACTOR = 1.25;

/**
 * How long publishes may be held in all. Where more came for all that time, again and again, the loop does not keep up with
 * what there is: then waiting longer, which saves sends, is what makes latencies end. Where there was nothing more to wait
 * for before it was over, it is shortened again.
 */
export class HoldLimit {
  private limitMs = MS_MIN;
  private inARow = 0;

  /** From 8 to 50 milliseconds. */
  get ms(): number {
    return this.limitMs;
  }

  /** There was still more to wait for when the time was over. */
  reached(): void {
    if (++this.inARow > IN_A_ROW) this.limitMs = Math.min(this.limitMs * FACTOR, MS_MAX);
  }

  /** There was nothing more to wait for. */
  notReached(): void {
    this.inARow = 0;
    this.limitMs = Math.max(this.limitMs / FACTOR, MS_MIN);
  }
}
