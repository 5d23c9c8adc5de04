import { type Rate, TokenBucket } from '../../runtime/rates/token-bucket.ts';

/** Milliseconds of each second that a loop may compress for, and how many of them at once: for so long everything else waits. */
const BUDGET: Rate = { perSecond: 250, burst: 50 };

/** What compressing a frame costs for one receiver, in milliseconds. Bun compresses it for each of them anew. */
const RECEIVER_MS = 0.015;
const BYTE_MS = 0.000_007;

export interface CompressionMeter {
  readonly count: (
    counter: 'framesCompressed',
    by: number,
    result: 'compressed' | 'over-budget',
  ) => void;
}

/**
 * The share of its time that a loop may spend on compressing. Beyond that, frames are sent as they are: otherwise, one app
 * with large events and many subscribers would stop the loop for all others.
 */
export class CompressionBudget {
  private readonly meter: CompressionMeter;
  private readonly now: () => number;
  private readonly bucket: TokenBucket;

  /** `now`: milliseconds that never go back. */
  constructor(meter: CompressionMeter, now: () => number) {
    this.meter = meter;
    this.now = now;
    this.bucket = new TokenBucket(BUDGET, now());
  }

  /** Whether a frame may be compressed now for all its receivers, which is counted. */
  take(receivers: number, bytes: number): boolean {
    if (receivers === 0) return false;
    const isWithin = this.bucket.take(
      BUDGET,
      this.now(),
      receivers * (RECEIVER_MS + bytes * BYTE_MS),
    );
    this.meter.count('framesCompressed', receivers, isWithin ? 'compressed' : 'over-budget');
    return isWithin;
  }
}
