import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import type { Clock } from '../runtime/ports.ts';

/** A client that takes nothing of an answer for this long does not read it. Milliseconds. */
const UNREAD_MS = 10_000;

/** Notices that a client takes nothing of what waits for it. */
export class ReadProgress {
  private bytes = Number.NaN;
  private sinceMs = 0;

  /** Whether this many bytes wait unchanged for `UNREAD_MS`. Called regularly. */
  hasStopped(bytes: number, nowMs: number): boolean {
    if (bytes !== this.bytes) {
      this.bytes = bytes;
      this.sinceMs = nowMs;
    }
    return nowMs - this.sinceMs >= UNREAD_MS;
  }
}

/** An answer that its client has not read. */
export interface UnreadAnswer {
  /** The app, or the address of an operator. */
  readonly owner: string;
  waitingBytes(): number;
  /** Closes its connection at once. May call `release`. */
  break(): void;
}

export interface UnreadAnswersOptions {
  /** The limit of bytes of all answers together. */
  readonly bytesMax: number;
  /** Monotonic. */
  readonly clock: Clock;
  /** Called before an answer is broken off. */
  readonly onBroken: (answer: UnreadAnswer) => void;
}

interface Held {
  readonly bytes: number;
  readonly progress: ReadProgress;
}

/**
 * Large answers until their sockets have taken them. All share one memory limit: at the limit, the owner with the most loses
 * its oldest answer.
 */
export class UnreadAnswers {
  private readonly options: UnreadAnswersOptions;
  private readonly budget: FairBudget;
  /** The oldest first. */
  private readonly held = new Map<UnreadAnswer, Held>();

  constructor(options: UnreadAnswersOptions) {
    this.options = options;
    this.budget = new FairBudget(options.bytesMax);
  }

  /** What all of them take. */
  get bytes(): number {
    return this.budget.total;
  }

  /** Reserves memory for an answer until `release`, if necessary at the expense of another; `false` if that is impossible. */
  hold(answer: UnreadAnswer): boolean {
    const { owner } = answer;
    const bytes = answer.waitingBytes();
    // One alone may be longer than the limit.
    while (this.held.size > 0) {
      const yielding = this.budget.ownerToEvict(owner, bytes);
      if (yielding === undefined) break;
      if (yielding === owner) return false;
      this.breakOldestOf(yielding);
    }
    this.budget.add(owner, bytes);
    this.held.set(answer, { bytes, progress: new ReadProgress() });
    return true;
  }

  release(answer: UnreadAnswer): void {
    const held = this.held.get(answer);
    if (held === undefined) return;
    this.held.delete(answer);
    this.budget.release(answer.owner, held.bytes);
  }

  /** Breaks off what is not read at all. Called regularly. */
  check(): void {
    const nowMs = this.options.clock.now();
    for (const [answer, { progress }] of this.held) {
      if (progress.hasStopped(answer.waitingBytes(), nowMs)) this.break(answer);
    }
  }

  /** Linear, but only called when the memory is full. */
  private breakOldestOf(owner: string): void {
    for (const answer of this.held.keys()) {
      if (answer.owner === owner) return this.break(answer);
    }
  }

  private break(answer: UnreadAnswer): void {
    this.options.onBroken(answer);
    this.release(answer);
    answer.break();
  }
}
