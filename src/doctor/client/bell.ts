import { withTimeout } from '../../runtime/system-timers.ts';
/** Wakes callers that wait for a change. */
export class Bell {
  private waiting: (() => void)[] = [];

  ring(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const wake of waiting) wake();
  }

  /** Waits for the next ring, until a time of `performance.now()` at the latest. */
  async heardBefore(deadlineMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting.push(resolve);
    if (deadlineMs === Number.POSITIVE_INFINITY) return await promise;
    await withTimeout(Math.max(0, deadlineMs - performance.now()), promise);
  }
}
