import type { Timers } from '../../runtime/ports.ts';
import { Delayed } from './delayed.ts';

/**
 * Actions that run after a delay of their own unless they are cancelled. Those of one delay run in the order in which they
 * were started. There must be few different delays: each has a timer, and cancelling looks at all.
 */
export class Delays<Key> {
  private readonly timers: Timers;
  private readonly byDelay = new Map<number, Delayed<Key>>();

  constructor(timers: Timers) {
    this.timers = timers;
  }

  /** Whether no action waits. */
  get isEmpty(): boolean {
    for (const delayed of this.byDelay.values()) if (!delayed.isEmpty) return false;
    return true;
  }

  /** Starts the delay of an action; without a delay, it runs now. No other action may wait under this key. */
  start(key: Key, delayMs: number, run: () => void): void {
    if (delayMs === 0) return run();
    this.byDelay
      .getOrInsertComputed(delayMs, () => new Delayed(this.timers, delayMs))
      .start(key, run);
  }

  /** Cancels an action; `false` if none waited. */
  cancel(key: Key): boolean {
    for (const delayed of this.byDelay.values()) if (delayed.cancel(key)) return true;
    return false;
  }

  /** Runs all waiting actions now. */
  flush(): void {
    const byDelay = [...this.byDelay].sort(([one], [other]) => one - other);
    for (const [, delayed] of byDelay) delayed.flush();
  }
}
