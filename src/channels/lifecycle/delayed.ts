import { OldestFirst } from '../../runtime/oldest-first.ts';
import type { Timers } from '../../runtime/ports.ts';

interface Waiting {
  readonly dueAtMs: number;
  readonly run: () => void;
}

/**
 * Actions that run after a fixed delay unless they are cancelled. All share one timer, and cancelling costs one
 * look-up: when a network fails, thousands may start and be cancelled at once.
 */
export class Delayed<Key> {
  private readonly timers: Timers;
  private readonly delayMs: number;
  // All have the same delay, so this is also the order in which they are due.
  private readonly waiting = new OldestFirst<Key, Waiting>();
  private cancelTimer: (() => void) | undefined;

  constructor(timers: Timers, delayMs: number) {
    this.timers = timers;
    this.delayMs = delayMs;
  }

  /** Whether no action waits. */
  get isEmpty(): boolean {
    return this.waiting.size === 0;
  }

  /** Whether an action waits under this key. */
  has(key: Key): boolean {
    return this.waiting.has(key);
  }

  /** Starts the delay of an action. Replaces a waiting action with the same key. */
  start(key: Key, run: () => void): void {
    this.waiting.set(key, { dueAtMs: this.timers.now() + this.delayMs, run });
    if (this.cancelTimer === undefined) this.arm();
  }

  /** Cancels an action; `false` if none waited. */
  cancel(key: Key): boolean {
    return this.waiting.delete(key);
  }

  /** Runs all waiting actions now. */
  flush(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const { run } of waiting) run();
  }

  private arm(): void {
    const next = this.next();
    this.cancelTimer = next && this.timers.after(this.remainingMs(next[1]), () => this.runDue());
  }

  private runDue(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const [key, waiting] = next;
      if (this.remainingMs(waiting) > 0) break;
      this.waiting.delete(key);
      waiting.run();
    }
    this.arm();
  }

  /** The action that is due first. */
  private next(): readonly [key: Key, waiting: Waiting] | undefined {
    const key = this.waiting.oldest();
    const waiting = key === undefined ? undefined : this.waiting.get(key);
    return key === undefined || waiting === undefined ? undefined : [key, waiting];
  }

  private remainingMs({ dueAtMs }: Waiting): number {
    const remainingMs = dueAtMs - this.timers.now();
    // The remaining time exceeds the delay: the clock was set back, so run it now.
    return remainingMs > this.delayMs ? 0 : Math.max(0, remainingMs);
  }
}
