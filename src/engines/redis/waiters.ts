import { EngineUnavailable } from '../../channels/engine-failure.ts';
import type { Timers } from '../../runtime/ports.ts';

interface Waiter {
  readonly ready: () => void;
  readonly failed: (error: Error) => void;
}

/** Callers that wait until a partition can be asked. */
export class Waiters {
  private readonly timers: Timers;
  private readonly all = new Set<Waiter>();

  constructor(timers: Timers) {
    this.timers = timers;
  }

  /** Rejects at `untilMs`. */
  wait(untilMs: number): Promise<void> {
    const { timers } = this;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { ready: resolve, failed: reject };
    const cancel = timers.after(Math.max(0, untilMs - timers.now()), () =>
      reject(new EngineUnavailable('Redis is away')),
    );
    this.all.add(waiter);
    return promise.finally(() => {
      cancel();
      this.all.delete(waiter);
    });
  }

  ready(): void {
    for (const { ready } of this.all) ready();
  }

  failed(error: Error): void {
    for (const { failed } of this.all) failed(error);
  }
}
