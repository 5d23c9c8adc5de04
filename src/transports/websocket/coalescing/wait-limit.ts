/** The longest wait of a publish while the loop keeps up. Milliseconds. */
const MS_MIN = 8;

/** The longest wait while it does not keep up. Milliseconds. */
const MS_MAX = 50;

/** Waits in a row that must end at the limit before the limit grows. */
const IN_A_ROW = 4;
const FACTOR = 1.25;

/**
 * The longest wait of a publish. If more publishes kept coming until the limit several times in a row, the loop does not
 * keep up. Then only merging more sends ends the growth of latencies, so the limit grows. It shrinks whenever the
 * publishes run out before the limit.
 */
export class WaitLimit {
  private limitMs = MS_MIN;
  private inARow = 0;

  /** From 8 to 50 milliseconds. */
  get ms(): number {
    return this.limitMs;
  }

  /** A wait ended at the limit, and more publishes were coming. */
  reached(): void {
    if (++this.inARow > IN_A_ROW) this.limitMs = Math.min(this.limitMs * FACTOR, MS_MAX);
  }

  /** The publishes ran out before the limit. */
  notReached(): void {
    this.inARow = 0;
    this.limitMs = Math.max(this.limitMs / FACTOR, MS_MIN);
  }
}
