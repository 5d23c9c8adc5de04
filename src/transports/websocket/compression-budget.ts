import { type Rate, TokenBucket } from '../../runtime/rates/token-bucket.ts';

/** Milliseconds of each second that a loop may compress for, and how many of them at once: for so long everything else waits. */
const BUDGET: Rate = { perSecond: 250, burst: 4 };

/** What compressing a frame costs for one receiver, in milliseconds. Bun compresses it for each of them anew. */
const RECEIVER_MS = 0.015;
const BYTE_MS = 0.000_007;

/** A turn counts as this many times its estimate at most: what it does besides may take long, and the process may have been stopped. */
const ESTIMATES_MAX = 5;

export interface CompressionPorts {
  readonly meter: {
    readonly count: (
      counter: 'framesCompressed',
      by: number,
      result: 'compressed' | 'over-budget',
    ) => void;
  };
  /** Milliseconds that never go back. */
  readonly now: () => number;
  /** Runs at the end of this turn, after the loop has sent what the turn published. */
  readonly afterTurn: (run: () => void) => void;
}

/**
 * The share of its time that a loop may spend on compressing. Beyond that, frames are sent as they are: otherwise, one app
 * with large events and many subscribers would stop the loop for all others.
 *
 * On a busy machine it takes longer than estimated, which is known only when the turn is over. So the estimate decides, and then
 * the time counts that the turn took.
 */
export class CompressionBudget {
  private readonly ports: CompressionPorts;
  private readonly bucket: TokenBucket;
  /** When this turn first compressed, and the estimates since then; `undefined`: it has not. */
  private turn: { readonly startMs: number; estimatedMs: number } | undefined;

  constructor(ports: CompressionPorts) {
    this.ports = ports;
    this.bucket = new TokenBucket(BUDGET, ports.now());
  }

  /** Whether a frame may be compressed for all its receivers, which are counted. It must be published at once. */
  take(receivers: number, bytes: number): boolean {
    if (receivers === 0) return false;
    const nowMs = this.ports.now();
    const costMs = receivers * (RECEIVER_MS + bytes * BYTE_MS);
    const isWithin = this.bucket.take(BUDGET, nowMs, costMs);
    this.ports.meter.count('framesCompressed', receivers, isWithin ? 'compressed' : 'over-budget');
    if (isWithin) this.note(nowMs, costMs);
    return isWithin;
  }

  private note(nowMs: number, costMs: number): void {
    if (this.turn !== undefined) {
      this.turn.estimatedMs += costMs;
      return;
    }
    const turn = { startMs: nowMs, estimatedMs: costMs };
    this.turn = turn;
    this.ports.afterTurn(() => {
      this.turn = undefined;
      const tookMs = this.ports.now() - turn.startMs;
      const countedMs = Math.min(tookMs, ESTIMATES_MAX * turn.estimatedMs);
      this.bucket.charge(Math.max(0, countedMs - turn.estimatedMs));
    });
  }
}
