/** How fast something may be used. */
export interface Rate {
  readonly perSecond: number;
}

/** What is allowed at once: as much as in this time. */
const BURST_MS = 1_000;

/** Whoever waits does so for some milliseconds at once, and then takes what has come together. */
const WAIT_MS_MIN = 5;

/** Allows so many a second, and a second's worth at once. */
export class Bucket {
  private readonly perSecond: number;
  private readonly capacity: number;
  private tokens: number;
  private filledAtMs: number;

  constructor({ perSecond }: Rate, nowMs: number) {
    this.perSecond = perSecond;
    this.capacity = Math.max(1, (perSecond * BURST_MS) / 1000);
    this.tokens = this.capacity;
    this.filledAtMs = nowMs;
  }

  /** 0 where one may be taken now, otherwise how long that takes. */
  waitMs(nowMs: number): number {
    this.fill(nowMs);
    if (this.tokens >= 1) return 0;
    return Math.max(WAIT_MS_MIN, Math.ceil(((1 - this.tokens) * 1000) / this.perSecond));
  }

  /** To be called where `waitMs` has just said 0. */
  take(): void {
    this.tokens--;
  }

  private fill(nowMs: number): void {
    const passedMs = nowMs - this.filledAtMs;
    if (passedMs === 0) return;
    this.filledAtMs = nowMs;
    // A clock that was set back.
    if (passedMs < 0) return;
    this.tokens = Math.min(this.capacity, this.tokens + (passedMs / 1000) * this.perSecond);
  }
}
