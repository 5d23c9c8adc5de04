/** Between two looks. Milliseconds. */
const INTERVAL_MS = 100;
/** How far back the longest delay is remembered, in looks: ten seconds. */
const LOOKS = 100;

/** Measures how late an event loop is: a timer that should fire every 100 ms, and what it misses. */
export class LoopDelay implements Disposable {
  private readonly delaysMs = new Float64Array(LOOKS);
  private next = 0;
  private lastMs = performance.now();
  private readonly timer = setInterval(() => this.look(), INTERVAL_MS);

  constructor() {
    this.timer.unref();
  }

  /** The longest delay of the last ten seconds. Seconds. */
  longestSeconds(): number {
    return Math.max(...this.delaysMs) / 1000;
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const now = performance.now();
    this.delaysMs[this.next % LOOKS] = Math.max(0, now - this.lastMs - INTERVAL_MS);
    this.next++;
    this.lastMs = now;
  }
}
