import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { Loop } from '../shares.ts';

/** At this number of unhandled messages to one loop, publishers wait. */
const BACKLOG_MAX = 4096;

/** At this number, publishers continue. */
const BACKLOG_RESUME = BACKLOG_MAX / 2;

/** The pause between two checks of the slow loop. Milliseconds. */
const CHECK_MS = 2;

export interface CongestionOptions {
  readonly loops: readonly Loop[];
  /** The messages from this loop to another that it has not handled yet. */
  readonly backlog: (loop: Loop) => number;
  readonly timers: Timers;
}

/**
 * Makes publishers wait while another loop cannot keep up with the messages of this one. Within one loop, an event is
 * answered when it is sent, so backends cannot publish faster than the loop sends. Between loops, only this class
 * bounds the messages.
 */
export class Congestion {
  private readonly options: CongestionOptions;
  private waiting: PromiseWithResolvers<void> | undefined;

  constructor(options: CongestionOptions) {
    this.options = options;
  }

  /** Returns at once if all loops keep up; otherwise settles when they do. */
  pass(): MaybePromise<void> {
    if (this.waiting !== undefined) return this.waiting.promise;
    if (this.isBelow(BACKLOG_MAX)) return;
    this.waiting = Promise.withResolvers();
    this.check();
    return this.waiting.promise;
  }

  private check(): void {
    this.options.timers.after(CHECK_MS, () => {
      if (!this.isBelow(BACKLOG_RESUME)) return this.check();
      const { waiting } = this;
      this.waiting = undefined;
      waiting?.resolve();
    });
  }

  private isBelow(most: number): boolean {
    for (const loop of this.options.loops) if (this.options.backlog(loop) > most) return false;
    return true;
  }
}
