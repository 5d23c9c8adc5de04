import { BURST_PER_SECOND, PLAN_MS, PLAN_MS_IN_BURST } from '../limits.ts';

/** What is accepted in so short a time is a burst where it is more than in the same time at the rate of one. */
const BURST_MS = 100;

/** So much is remembered: a burst is over soon after its last publish. */
const BURST_PUBLISHES = (BURST_PER_SECOND * BURST_MS) / 1000;

/**
 * Says when more publishes are claimed to be planned. Accepting them shares one loop with planning, and whoever
 * publishes waits for the one and not for the other: in a burst, planning goes on in larger steps, and more seldom.
 */
export class PlanningPace {
  private level = 0;
  private levelAtMs = 0;
  private beganAtMs = Number.NEGATIVE_INFINITY;

  /** So many publishes were accepted. */
  accepted(publishes: number, nowMs: number): void {
    this.level = Math.min(2 * BURST_PUBLISHES, this.levelAt(nowMs) + publishes);
    this.levelAtMs = nowMs;
  }

  /** Some were claimed. */
  began(nowMs: number): void {
    this.beganAtMs = nowMs;
  }

  /** 0 where more may be claimed now, otherwise how long that takes. */
  waitMs(nowMs: number): number {
    const passedMs = nowMs - this.beganAtMs;
    // A clock that was set back.
    if (passedMs < 0) return 0;
    const pauseMs = this.levelAt(nowMs) > BURST_PUBLISHES ? PLAN_MS_IN_BURST : PLAN_MS;
    return Math.max(0, pauseMs - passedMs);
  }

  private levelAt(nowMs: number): number {
    const passedMs = nowMs - this.levelAtMs;
    if (passedMs < 0) return 0;
    return Math.max(0, this.level - (passedMs * BURST_PER_SECOND) / 1000);
  }
}
