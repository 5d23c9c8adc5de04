import type { Timers } from '../../runtime/ports.ts';

interface Waiting {
  readonly dueAtMs: number;
  readonly run: () => void;
}

/**
 * Things that are done a fixed time later unless they are called off. One timer for all of them, and
 * calling off costs a look-up: thousands may come and go at once when a network fails.
 */
export class Delayed<Key> {
  private readonly timers: Timers;
  private readonly delayMs: number;
  // All wait equally long, so the order in which they came is the order in which they are due.
  private readonly waiting = new Map<Key, Waiting>();
  private cancelTimer: (() => void) | undefined;

  constructor(timers: Timers, delayMs: number) {
    this.timers = timers;
    this.delayMs = delayMs;
  }

  /** Whether something waits under this key. */
  has(key: Key): boolean {
    return this.waiting.has(key);
  }

  /** Does it later. What waited under the same key is called off. */
  start(key: Key, run: () => void): void {
    this.waiting.delete(key);
    this.waiting.set(key, { dueAtMs: this.timers.now() + this.delayMs, run });
    if (this.cancelTimer === undefined) this.arm();
  }

  /** Calls it off; `false` where nothing waited. */
  cancel(key: Key): boolean {
    return this.waiting.delete(key);
  }

  /** Does now what waits. */
  flush(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { run } of waiting) run();
  }

  private arm(): void {
    const [first] = this.waiting.values();
    this.cancelTimer =
      first === undefined
        ? undefined
        : this.timers.after(this.remainingMs(first), () => this.runDue());
  }

  private runDue(): void {
    for (const [key, waiting] of this.waiting) {
      if (this.remainingMs(waiting) > 0) break;
      this.waiting.delete(key);
      waiting.run();
    }
    this.arm();
  }

  private remainingMs({ dueAtMs }: Waiting): number {
    const remainingMs = dueAtMs - this.timers.now();
    // Nothing waits longer than the delay, unless the clock was set back: it has waited enough then.
    return remainingMs > this.delayMs ? 0 : Math.max(0, remainingMs);
  }
}
