import { unrefTimers } from '../runtime/system-timers.ts';
import { every } from '../runtime/time/every.ts';

/** The period of the timer. Milliseconds. */
const INTERVAL_MS = 100;
/** Delays that are remembered: 10 s worth. */
const DELAYS = 100;

/** Measures the delay of an event loop: how late a timer of 100 ms fires. */
export class LoopDelay implements Disposable {
  private readonly delaysMs = new Float64Array(DELAYS);
  private next = 0;
  private lastMs = performance.now();
  private readonly stop = every(unrefTimers, INTERVAL_MS, () => this.measure());

  /** The longest delay of the last 10 s. Seconds. */
  longestSeconds(): number {
    return Math.max(...this.delaysMs) / 1000;
  }

  [Symbol.dispose](): void {
    this.stop();
  }

  private measure(): void {
    const now = performance.now();
    this.delaysMs[this.next % DELAYS] = Math.max(0, now - this.lastMs - INTERVAL_MS);
    this.next++;
    this.lastMs = now;
  }
}
