/** Less than the timeout of a test under `npm test`, so that the failure says what was awaited. */
const WAIT_MAX_MS = 60_000;

/** Lets tests wait until a client has received something. The client calls `wake` after each change. */
export class Waiting {
  private waiting: (() => void)[] = [];

  wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const wake of waiting) wake();
  }

  /** Settles once `done` is true. `what` is named in the failure. */
  async until(done: () => boolean, what: string): Promise<void> {
    const deadlineMs = performance.now() + WAIT_MAX_MS;
    while (!done()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.waiting.push(resolve);
      const leftMs = deadlineMs - performance.now();
      const timer = setTimeout(resolve, leftMs);
      await promise;
      clearTimeout(timer);
      if (!done() && leftMs <= 0) throw new Error(`Timed out waiting for ${what}`);
    }
  }
}
