import { TokenBucket } from '../../../channels/token-bucket.ts';
import { Refusal } from '../../../push/refusal.ts';

/** How long a bucket takes to fill up. One that was left alone for so long is as good as a new one. */
const FULL_AFTER_MS = 1000;

/** Buckets that are kept before it is worth looking for idle ones. */
const IDLE_MAX = 1000;

const RETRY_AFTER_SECONDS = 1;

/** How often each instance does one thing. */
export class Rate {
  private readonly used = new Map<number, { readonly bucket: TokenBucket; atMs: number }>();
  private cleanAt = IDLE_MAX;

  /** Counts one request of the instance with this number, or refuses it. `perSecond` 0: no limit. */
  take(instance: number, perSecond: number, nowMs: number): Refusal | undefined {
    if (perSecond === 0) return undefined;
    let entry = this.used.get(instance);
    if (entry === undefined) {
      this.clean(nowMs);
      entry = { bucket: new TokenBucket(perSecond, nowMs), atMs: nowMs };
      this.used.set(instance, entry);
    }
    entry.atMs = nowMs;
    return entry.bucket.take(perSecond, nowMs)
      ? undefined
      : new Refusal(
          'rate-limited',
          `Too many requests in quick succession: at most ${perSecond} per second`,
          RETRY_AFTER_SECONDS,
        );
  }

  /** How many instances are remembered: those of the last second, and not many more. */
  get size(): number {
    return this.used.size;
  }

  private clean(nowMs: number): void {
    if (this.used.size < this.cleanAt) return;
    for (const [instance, { atMs }] of this.used) {
      if (Math.abs(nowMs - atMs) >= FULL_AFTER_MS) this.used.delete(instance);
    }
    // Twice as many before the next time, so that the looking costs each new one the same.
    this.cleanAt = Math.max(IDLE_MAX, 2 * this.used.size);
  }
}
