import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { Loop } from '../shares.ts';
import type { EngineLinks } from './engine-links.ts';

/** At this number of unhandled messages to one loop, publishers wait. */
const BACKLOG_MAX = 4096;

/**
 * The same for events that a loop posts to their home. It has done nothing for them but post them, and so could accept many more
 * than the home can send within the time that subscribers may have to wait.
 */
const POSTED_MAX = 256;

/** The pause between two checks of the slow loop. Milliseconds. */
const CHECK_MS = 2;

export interface CongestionOptions {
  /** The number of this loop, and of all loops. */
  readonly loop: Loop;
  readonly loops: number;
  readonly others: Pick<EngineLinks, 'backlog' | 'isCongested' | 'setCongested'>;
  readonly timers: Timers;
}

/**
 * Makes publishers wait while another loop cannot keep up with the messages of this one. Within one loop, an event is
 * answered when it is sent, so backends cannot publish faster than the loop sends. Between loops, only this class
 * bounds the messages.
 */
export class Congestion {
  private readonly all: Gate;
  /** Of each home on another loop, in its place. */
  private readonly homes: readonly Gate[];

  constructor({ loop, loops, others, timers }: CongestionOptions) {
    const numbers = Array.from({ length: loops }, (_, number) => number);
    const senders = numbers.filter((number) => number !== loop);
    this.all = new Gate({
      isBelow: (share) => senders.every((to) => others.backlog(to) <= BACKLOG_MAX * share),
      changed: (isClosed) => others.setCongested(isClosed),
      timers,
    });
    this.homes = numbers.map(
      (home) =>
        new Gate({
          isBelow: (share) =>
            others.backlog(home) <= POSTED_MAX * share && !others.isCongested(home),
          timers,
        }),
    );
  }

  /** Returns at once if all loops keep up; otherwise settles when they do. */
  pass(): MaybePromise<void> {
    return this.all.pass();
  }

  /** Returns at once if the home of an event keeps up, and the loops that it sends to; otherwise settles when they do. */
  passTo(home: Loop): MaybePromise<void> {
    return this.homes[home]?.pass();
  }
}

interface GateOptions {
  /** Whether what waits is below this share of its limit. */
  readonly isBelow: (share: number) => boolean;
  readonly changed?: (isClosed: boolean) => void;
  readonly timers: Timers;
}

/** Lets publishers pass until a limit is reached, and then again from half of it. */
class Gate {
  private readonly options: GateOptions;
  private waiting: PromiseWithResolvers<void> | undefined;

  constructor(options: GateOptions) {
    this.options = options;
  }

  pass(): MaybePromise<void> {
    if (this.waiting !== undefined) return this.waiting.promise;
    const { isBelow, changed } = this.options;
    if (isBelow(1)) return;
    this.waiting = Promise.withResolvers();
    changed?.(true);
    this.check();
    return this.waiting.promise;
  }

  private check(): void {
    const { timers, isBelow, changed } = this.options;
    timers.after(CHECK_MS, () => {
      if (!isBelow(1 / 2)) return this.check();
      const { waiting } = this;
      this.waiting = undefined;
      changed?.(false);
      waiting?.resolve();
    });
  }
}
