import { MergeEstimate } from './merge-estimate.ts';
import { WaitLimit } from './wait-limit.ts';

/** Publishes wait only while the loop uses at least this share of a core. */
const BUSY_FROM = 0.6;

/** If the last flush ended longer ago, the next publish does not wait. Milliseconds. */
const APART_MS = 5;

/** Publishes wait for another turn of the loop if this one brought at least this share of what the turn before brought. */
const NEXT_TURN_MIN = 0.25;

/**
 * A backend behind a network needs more than a turn for its next request. So when turns bring less, one pause of 1 ms
 * follows. The wait continues if the pause brought half as many publishes as the first turn and merges at least 100 sends,
 * which take about as long as the pause.
 */
const PAUSE_MS = 1;
const PAUSE_BRINGS_MIN = 0.5;
const PAUSE_MERGES_MIN = 100;

/** After a pause that was not worth it, there is none for a time that doubles. Milliseconds. */
const NO_PAUSE_MS = 10;
const NO_PAUSE_MS_MAX = 80;

/** Publishes do not wait if fewer sends than this share could be merged. */
const MERGED_SHARE_MIN = 0.05;

/** After a wait that merged fewer, there is no waiting for a time that doubles. Milliseconds. */
const NO_WAIT_MS = 4;
const NO_WAIT_MS_MAX = 200;

/** Bun merges this many publishes of one topic into one write. Waiting for more saves nothing. */
const MERGED_MAX = 32;

/** Limits of the queue, in publishes and in characters of their frames. */
const WAITING_MAX = 4096;
const WAITING_CHARACTERS_MAX = 1024 * 1024;

export interface CoalescerPorts {
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** The share of a core that the loop used recently, from 0 to 1. */
  readonly busyShare: (nowMs: number) => number;
  readonly after: (delayMs: number, run: () => void) => unknown;
  /** Runs at the end of this turn, after the loop has sent what the turn published. */
  readonly afterTurn: (run: () => void) => void;
}

/** A publish that may wait. */
export interface CoalescedPublish {
  readonly topic: string;
  readonly frame: string;
  /** The connections that it goes to. */
  readonly receivers: number;
  run(): void;
}

/**
 * Lets publishes wait for others while the loop is busy. Everything that a connection is sent in one turn of the loop
 * leaves in one write, and writes take nearly all of the time. `docs/internals/coalescing.md` explains the model.
 *
 * A turn brings at most one publish of each backend connection, because a backend waits for its answer. A waiting publish
 * is answered at once, so the next turns bring what the backends still have. Publishes wait for further turns while these
 * bring more, up to the `WaitLimit`. The loop would read those requests anyway; now it reads them before it sends.
 *
 * Nothing waits while the loop has time, after a break between publishes, if few sends could be merged, or shortly after a
 * wait that merged few. The order of publishes never changes.
 */
export class Coalescer {
  private readonly ports: CoalescerPorts;
  private readonly limit = new WaitLimit();
  private readonly estimate = new MergeEstimate();
  private waiting: CoalescedPublish[] = [];
  private readonly waitingByTopic = new Map<string, number>();
  private waitingCharacters = 0;
  /** The sends of all waiting publishes, unmerged and merged by topic. */
  private sends = 0;
  private mergedSends = 0;
  /** When the loop had sent the last flush; `'unknown'` until that is certain. */
  private sentAtMs: number | 'unknown' = Number.NEGATIVE_INFINITY;
  /** This turn has published: what joins it costs no further write. */
  private isPublishing = false;
  /** The last wait merged few sends: nothing waits before this. */
  private noWaitBeforeMs = Number.NEGATIVE_INFINITY;
  private noWaitMs = NO_WAIT_MS;
  private waitingSinceMs = 0;
  /** The waiting publishes at the last count, and how many the first and the last turn brought. */
  private counted = 0;
  private broughtFirst = 0;
  private broughtLast = 0;
  private mergedBeforePause = 0;
  /** The last pause was not worth it: there is none before this. */
  private noPauseBeforeMs = Number.NEGATIVE_INFINITY;
  private noPauseMs = NO_PAUSE_MS;
  /** The number of the wait, so that a late timer of an earlier one does nothing. */
  private batch = 0;

  constructor(ports: CoalescerPorts) {
    this.ports = ports;
  }

  /** Publishes after all that wait, or at once if nothing waits. */
  publish(publish: CoalescedPublish): void {
    if (this.waiting.length > 0) this.add(publish);
    else publish.run();
  }

  /** Publishes at once, or within the `WaitLimit`: 8 ms, up to 50 ms while the loop is overloaded. */
  publishBatched(publish: CoalescedPublish): void {
    this.estimate.note(publish.topic, publish.receivers);
    if (this.waiting.length > 0 || this.isPublishing) return this.publish(publish);
    // First, because it needs no clock.
    if (this.estimate.share < MERGED_SHARE_MIN) return publish.run();
    const nowMs = this.ports.now();
    if (nowMs < this.noWaitBeforeMs || this.ports.busyShare(nowMs) < BUSY_FROM) {
      this.sentAtMs = nowMs;
      return publish.run();
    }
    // The loop reads requests after it has sent everything before.
    if (this.sentAtMs === 'unknown') this.sentAtMs = nowMs;
    if (nowMs - this.sentAtMs < APART_MS) return this.beginWaiting(nowMs, publish);
    this.beginTurn();
    publish.run();
  }

  /** Publishes all that waits. Call it before anything that must come after. */
  flush(): void {
    if (this.waiting.length === 0) return;
    this.beginTurn();
    this.release();
  }

  private beginWaiting(nowMs: number, first: CoalescedPublish): void {
    this.waitingSinceMs = nowMs;
    this.counted = 0;
    this.broughtFirst = 0;
    this.broughtLast = 0;
    this.add(first);
    // A publish that is too large to wait has left.
    if (this.waiting.length > 0) this.awaitTurn();
  }

  private awaitTurn(): void {
    const { batch } = this;
    this.ports.afterTurn(() => {
      if (batch === this.batch) this.turned();
    });
  }

  private turned(): void {
    const before = this.broughtLast;
    this.broughtLast = this.brought();
    this.broughtFirst ||= this.broughtLast;
    const waitedMs = this.ports.now() - this.waitingSinceMs;
    if (waitedMs >= this.limit.ms) {
      this.limit.reached();
      return this.flushBetweenTurns();
    }
    if (this.broughtLast >= before * NEXT_TURN_MIN) return this.awaitTurn();
    this.limit.notReached();
    this.pauseOrFlush(waitedMs);
  }

  private pauseOrFlush(waitedMs: number): void {
    const { batch } = this;
    const isPaused = this.waitingSinceMs + waitedMs < this.noPauseBeforeMs;
    if (isPaused || waitedMs + PAUSE_MS > this.limit.ms) return this.flushBetweenTurns();
    this.mergedBeforePause = this.merged();
    this.ports.after(PAUSE_MS, () => {
      if (batch === this.batch) this.paused();
    });
  }

  private paused(): void {
    this.broughtLast = this.brought();
    const merges = this.merged() - this.mergedBeforePause;
    if (this.broughtLast >= this.broughtFirst * PAUSE_BRINGS_MIN && merges >= PAUSE_MERGES_MIN) {
      this.noPauseMs = NO_PAUSE_MS;
      return this.awaitTurn();
    }
    this.noPauseBeforeMs = this.ports.now() + this.noPauseMs;
    this.noPauseMs = Math.min(this.noPauseMs * 2, NO_PAUSE_MS_MAX);
    this.flushBetweenTurns();
  }

  /** The sends that merging saves. */
  private merged(): number {
    return this.sends - this.mergedSends;
  }

  /** The publishes since the last call. */
  private brought(): number {
    const brought = this.waiting.length - this.counted;
    this.counted = this.waiting.length;
    return brought;
  }

  private add(publish: CoalescedPublish): void {
    const ofTopic = (this.waitingByTopic.get(publish.topic) ?? 0) + 1;
    this.waitingByTopic.set(publish.topic, ofTopic);
    this.waiting.push(publish);
    this.waitingCharacters += publish.frame.length;
    this.sends += publish.receivers;
    if (ofTopic === 1) this.mergedSends += publish.receivers;
    // Waiting longer would gain nothing.
    if (
      ofTopic >= MERGED_MAX ||
      this.waiting.length >= WAITING_MAX ||
      this.waitingCharacters >= WAITING_CHARACTERS_MAX
    ) {
      this.flush();
    }
  }

  private beginTurn(): void {
    if (this.isPublishing) return;
    this.isPublishing = true;
    this.ports.afterTurn(() => {
      this.isPublishing = false;
      this.sentAtMs = this.ports.now();
    });
  }

  /** Timers and turn ends run before the loop sends. What it reads after that waits again. */
  private flushBetweenTurns(): void {
    this.sentAtMs = 'unknown';
    this.release();
    // The first of these turns ends before the loop sends.
    this.ports.afterTurn(() => this.ports.afterTurn(() => this.noteSent()));
  }

  private noteSent(): void {
    if (this.sentAtMs === 'unknown') this.sentAtMs = this.ports.now();
  }

  /** Decides whether the next publishes may wait, by what this wait merged. */
  private judge(): void {
    if (this.merged() >= this.sends * MERGED_SHARE_MIN) {
      this.noWaitMs = NO_WAIT_MS;
      return;
    }
    this.noWaitBeforeMs = this.ports.now() + this.noWaitMs;
    this.noWaitMs = Math.min(this.noWaitMs * 2, NO_WAIT_MS_MAX);
  }

  private release(): void {
    const { waiting } = this;
    this.judge();
    this.waiting = [];
    this.waitingByTopic.clear();
    this.waitingCharacters = 0;
    this.sends = 0;
    this.mergedSends = 0;
    this.batch++;
    for (const publish of waiting) publish.run();
  }
}
