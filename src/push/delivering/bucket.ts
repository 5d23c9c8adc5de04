/** How fast something may be used. */
export interface Rate {
  readonly perSecond: number;
  /** It is reached over this time after a pause; 0: at once. */
  readonly rampMs: number;
}

/** What is allowed at once: as much as in this time. */
const BURST_MS = 1_000;

/** Where a ramp begins, as a part of the full rate. */
const RAMP_START = 0.1;

/** Whoever waits does so for some milliseconds at once, and then takes what has come together. */
const WAIT_MS_MIN = 5;

/** Allows so many a second, and a second's worth at once. */
export class Bucket {
  private readonly rate: Rate;
  private tokens: number;
  private filledAtMs: number;
  private rampSinceMs: number;

  constructor(rate: Rate, nowMs: number) {
    this.rate = rate;
    this.filledAtMs = nowMs;
    this.rampSinceMs = nowMs;
    this.tokens = this.capacityAt(nowMs);
  }

  /** 0 where one may be taken now, otherwise how long that takes. */
  waitMs(nowMs: number): number {
    this.fill(nowMs);
    if (this.tokens >= 1) return 0;
    return Math.max(WAIT_MS_MIN, Math.ceil(((1 - this.tokens) * 1000) / this.rateAt(nowMs)));
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
    const { rampMs } = this.rate;
    if (rampMs > 0 && passedMs >= rampMs) this.rampSinceMs = nowMs;
    const rate = this.rateAt(nowMs);
    this.tokens = Math.min(this.capacityAt(nowMs), this.tokens + (passedMs / 1000) * rate);
  }

  private capacityAt(nowMs: number): number {
    return Math.max(1, (this.rateAt(nowMs) * BURST_MS) / 1000);
  }

  private rateAt(nowMs: number): number {
    const { perSecond, rampMs } = this.rate;
    if (rampMs === 0) return perSecond;
    const part = Math.min(1, Math.max(0, nowMs - this.rampSinceMs) / rampMs);
    return perSecond * (RAMP_START + (1 - RAMP_START) * part);
  }
}
