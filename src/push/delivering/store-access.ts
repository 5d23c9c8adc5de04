import { STORE_PAUSE_MS, STORE_PAUSE_MS_MAX } from './limits.ts';
import type { PipelineNotices, PipelineTimers } from './ports.ts';

/** What fails more often than this does so for another reason than that the store is away for a while. */
const QUICK_TRIES = 60;

/** Asks the store, tells when it cannot be asked, and waits until it can. */
export class StoreAccess {
  private readonly timers: PipelineTimers;
  private readonly notices: PipelineNotices;
  private readonly waiting = new Set<() => void>();
  private readonly told = new WeakSet<object>();
  private isFailing = false;
  private hasGivenUp = false;

  constructor(timers: PipelineTimers, notices: PipelineNotices) {
    this.timers = timers;
    this.notices = notices;
  }

  /** Whether it is of the store, and was told. */
  wasTold(error: unknown): boolean {
    return typeof error === 'object' && error !== null && this.told.has(error);
  }

  /** Asks once; throws what the store throws. */
  async ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await question();
      if (this.isFailing) {
        this.isFailing = false;
        this.notices.storeWorked();
      }
      return answer;
    } catch (error) {
      this.isFailing = true;
      if (typeof error === 'object' && error !== null) this.told.add(error);
      this.notices.storeFailed(error);
      throw error;
    }
  }

  /** Asks until there is an answer, or so many times; `undefined` then, and where `giveUp` was called before that. */
  async insist<Answer>(
    question: () => Promise<Answer>,
    most = Number.POSITIVE_INFINITY,
  ): Promise<Answer | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.ask(question);
      } catch {
        // It was told; what is asked here is worth asking again, whatever it was.
        if (this.hasGivenUp || tries >= most) return undefined;
        await this.pause(tries <= QUICK_TRIES ? STORE_PAUSE_MS : STORE_PAUSE_MS_MAX);
        if (this.hasGivenUp) return undefined;
      }
    }
  }

  /** Lets time pass, or ends at once where `giveUp` is called. */
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

  /** Whoever waits for the store waits no longer. */
  giveUp(): void {
    this.hasGivenUp = true;
    for (const end of [...this.waiting]) end();
  }
}
