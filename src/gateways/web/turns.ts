/** A message takes about 60 µs, so these take 2 ms. */
const PER_TURN = 32;

/**
 * Lets so many messages be encrypted in one turn of the loop, and the others in later turns, in the order in which
 * they came: all that runs beside them in this thread would wait for a thousand at once.
 */
export class Turns {
  private left = PER_TURN;
  private waiting: (() => void)[] = [];
  private isRefillPlanned = false;

  /** `undefined`: now. */
  take(): Promise<void> | undefined {
    this.planRefill();
    if (this.left > 0) {
      this.left--;
      return undefined;
    }
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }

  private planRefill(): void {
    if (this.isRefillPlanned) return;
    this.isRefillPlanned = true;
    setImmediate(() => {
      this.isRefillPlanned = false;
      const next = this.waiting.splice(0, PER_TURN);
      this.left = PER_TURN - next.length;
      if (next.length > 0) this.planRefill();
      for (const resume of next) resume();
    });
  }
}
