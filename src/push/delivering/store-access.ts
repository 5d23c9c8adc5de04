import type { Timers } from '../../runtime/ports.ts';
import { STORE_PAUSE_MS, STORE_PAUSE_MS_MAX } from './limits.ts';
import type { PipelineNotices } from './ports.ts';

/** After this many tries the pauses grow: this is not a brief failure. */
const QUICK_TRIES = 60;

type StoreNotices = Pick<PipelineNotices, 'storeFailed'>;

/** Calls the store, reports when it fails, and repeats calls until it works. */
export class StoreAccess {
  private readonly timers: Timers;
  private readonly notices: StoreNotices;
  private readonly waiting = new Set<() => void>();
  private readonly reported = new WeakSet<object>();
  private hasGivenUp = false;

  constructor(timers: Timers, notices: StoreNotices) {
    this.timers = timers;
    this.notices = notices;
  }

  /** Whether an error came from the store, and was reported. */
  wasReported(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.reported.has(error);
  }

  /** Calls once. Rejects with the error of the store, after reporting it. */
  async ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      if (typeof error === 'object' && error !== null) this.reported.add(error);
      this.notices.storeFailed(error);
      throw error;
    }
  }

  /** Calls until it succeeds. `undefined`: it failed `triesMax` times, or `giveUp` was called. */
  async insist<Answer>(
    call: () => Promise<Answer>,
    triesMax = Number.POSITIVE_INFINITY,
  ): Promise<Answer | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.ask(call);
      } catch {
        // Reported. Whatever it was, it is worth another try.
        if (this.hasGivenUp || tries >= triesMax) return undefined;
        await this.pause(tries <= QUICK_TRIES ? STORE_PAUSE_MS : STORE_PAUSE_MS_MAX);
        if (this.hasGivenUp) return undefined;
      }
    }
  }

  /** Settles after some time, or when `giveUp` is called. */
  async pause(ms: number): Promise<void> {
    if (this.hasGivenUp) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        cancel();
        this.waiting.delete(end);
        resolve();
      };
      const cancel = this.timers.after(ms, end);
      this.waiting.add(end);
    });
  }

  /** Ends all pauses and repetitions. */
  giveUp(): void {
    this.hasGivenUp = true;
    for (const end of [...this.waiting]) end();
  }
}
