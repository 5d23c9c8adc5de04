/** The minimum time between measurements: much longer than one event takes. Milliseconds. */
const MEASURE_MS = 50;

/** Measures the share of a core that this thread uses, from 0 to 1. */
export class LoopShare {
  private measuredAtMs: number;
  private usedUs: number;
  private share = 0;
  private readonly used: () => number;

  /** `usedUs` returns the processor time of this thread so far. Microseconds. */
  constructor(nowMs: number, usedUs = usedByThisThreadUs) {
    this.used = usedUs;
    this.measuredAtMs = nowMs;
    this.usedUs = usedUs();
  }

  /** The share since the last measurement. `nowMs` never goes back. */
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
