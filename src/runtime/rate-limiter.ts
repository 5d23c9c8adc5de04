import { type Rate, TokenBucket } from './token-bucket.ts';

/** Buckets that are kept before it is worth looking for full ones. */
const CLEAN_FROM = 1000;

/** Keys that are remembered at most. Beyond it, the least recently used one starts anew with a full bucket. */
const KEYS_MAX = 100_000;

interface Entry {
  readonly bucket: TokenBucket;
  /** When the bucket is as good as a new one. Milliseconds. */
  fullAtMs: number;
}

/** A token bucket for each key: a client address, an app, an instance. Memory is bounded, and idle keys cost nothing. */
export class RateLimiter<Key> {
  private readonly keysMax: number;
  /** The least recently used first. */
  private readonly entries = new Map<Key, Entry>();
  private cleanAt = CLEAN_FROM;

  constructor(keysMax = KEYS_MAX) {
    this.keysMax = keysMax;
  }

  /** Takes `tokens` from the bucket of the key, if they are there. */
  take(key: Key, rate: Rate, nowMs: number, tokens = 1): boolean {
    const entry = this.used(key, rate, nowMs);
    const isTaken = entry.bucket.take(rate, nowMs, tokens);
    entry.fullAtMs = entry.bucket.fullAtMs(rate);
    return isTaken;
  }

  /** Takes tokens for something that has happened already: the bucket may owe some then. */
  charge(key: Key, rate: Rate, nowMs: number, tokens: number): void {
    const entry = this.used(key, rate, nowMs);
    entry.bucket.has(rate, nowMs);
    entry.bucket.charge(tokens);
    entry.fullAtMs = entry.bucket.fullAtMs(rate);
  }

  /** Whether `tokens` are there to be taken. */
  has(key: Key, rate: Rate, nowMs: number, tokens = 1): boolean {
    return tokens <= this.left(key, rate, nowMs);
  }

  /** How many tokens are there. */
  left(key: Key, rate: Rate, nowMs: number): number {
    return this.entries.get(key)?.bucket.left(rate, nowMs) ?? rate.burst;
  }

  /** How many keys are remembered: those whose buckets may not be full, and not many more. */
  get size(): number {
    return this.entries.size;
  }

  /** The entry of the key, which is the most recently used one now. */
  private used(key: Key, rate: Rate, nowMs: number): Entry {
    let entry = this.entries.get(key);
    if (entry === undefined) {
      this.makeRoom(nowMs);
      entry = { bucket: new TokenBucket(rate, nowMs), fullAtMs: nowMs };
    } else {
      this.entries.delete(key);
    }
    this.entries.set(key, entry);
    return entry;
  }

  private makeRoom(nowMs: number): void {
    if (this.entries.size >= this.cleanAt) {
      for (const [key, { fullAtMs }] of this.entries)
        if (fullAtMs <= nowMs) this.entries.delete(key);
      // Twice as many before the next time, so that cleaning costs each new key the same.
      this.cleanAt = Math.max(CLEAN_FROM, 2 * this.entries.size);
    }
    if (this.entries.size < this.keysMax) return;
    for (const key of this.entries.keys()) {
      this.entries.delete(key);
      break;
    }
  }
}
