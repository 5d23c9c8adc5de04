import { BURST_PER_SECOND, PLAN_MS, PLAN_MS_IN_BURST } from '../limits.ts';

/** The time over which a burst is measured. */
const BURST_MS = 100;

/** Publishes within `BURST_MS` that make a burst. */
const BURST_PUBLISHES = (BURST_PER_SECOND * BURST_MS) / 1000;

/**
 * Decides when more plans are claimed. Accepting publishes shares one loop with planning, and backends wait only for
 * the former: in a burst, plans are claimed less often and more at a time.
 */
export class PlanningPace {
  /** A leaky bucket of accepted publishes. */
  private level = 0;
  private levelAtMs = 0;
  private beganAtMs = Number.NEGATIVE_INFINITY;

  /** Counts accepted publishes. */
  accepted(publishes: number, nowMs: number): void {
    this.level = Math.min(2 * BURST_PUBLISHES, this.levelAt(nowMs) + publishes);
    this.levelAtMs = nowMs;
  }

  /** Records a claim. */
  began(nowMs: number): void {
    this.beganAtMs = nowMs;
  }

  /** Time until the next claim; 0: now. */
  waitMs(nowMs: number): number {
    const passedMs = nowMs - this.beganAtMs;
    // The clock was set back.
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
