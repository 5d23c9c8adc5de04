/** How often it is measured, at most: much longer than what one event takes. Milliseconds. */
const MEASURE_MS = 50;

/** The share of a core that this thread used, as it was measured last: from 0 to 1. */
export class LoopShare {
  private measuredAtMs: number;
  private usedUs: number;
  private share = 0;
  private readonly used: () => number;

  /** `usedUs` tells how long this thread has used a core in all. Microseconds. */
  constructor(nowMs: number, usedUs = usedByThisThreadUs) {
    this.used = usedUs;
    this.measuredAtMs = nowMs;
    this.usedUs = usedUs();
  }

  /** `nowMs` only goes forward. Of a long time in which nobody asked, it is the share of all of it. */
  at(nowMs: number): number {
    const passedMs = nowMs - this.measuredAtMs;
    if (passedMs >= MEASURE_MS) {
      const used = this.used();
      this.share = (used - this.usedUs) / (passedMs * 1000);
      this.measuredAtMs = nowMs;
      this.usedUs = used;
    }
    return this.share;
  }
}

function usedByThisThreadUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}
