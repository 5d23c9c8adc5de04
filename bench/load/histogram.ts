// 64 buckets between a power of two and the next: a value is known to within 1.6 %.
const PRECISION_BITS = 6;
const EXACT_BELOW = 1 << (PRECISION_BITS + 1);
/** Longer than this is counted as this: about 18 minutes. */
const US_MAX = 2 ** 30 - 1;

function bucketOf(us: number): number {
  if (us < EXACT_BELOW) return us;
  const shift = 31 - Math.clz32(us) - PRECISION_BITS;
  return (shift << PRECISION_BITS) + (us >>> shift);
}

function upperEdgeUs(bucket: number): number {
  if (bucket < EXACT_BELOW) return bucket;
  const shift = (bucket >>> PRECISION_BITS) - 1;
  return ((bucket - (shift << PRECISION_BITS) + 1) << shift) - 1;
}

/** Durations in fixed buckets, fine enough for percentiles and free to record into. */
export class Histogram {
  readonly #counts = new Float64Array(bucketOf(US_MAX) + 1);
  #count = 0;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  record(ms: number): void {
    const us = Math.min(US_MAX, Math.max(0, Math.round(ms * 1000)));
    const bucket = bucketOf(us);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#count += 1;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  /** The duration that the given share of all recorded ones does not exceed; at most 1.6 % too high. */
  quantileMs(share: number): number {
    const rank = Math.max(1, Math.ceil(this.#count * share));
    let seen = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count;
      if (seen >= rank) return Math.min(this.#maxMs, upperEdgeUs(bucket) / 1000);
    }
    return this.#maxMs;
  }
}
