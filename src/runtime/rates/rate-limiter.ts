import { OldestFirst } from '../oldest-first.ts';
import { type Rate, TokenBucket } from './token-bucket.ts';

/** Number of buckets from which on full ones are removed. */
const CLEAN_FROM = 1000;

/** Keys that are remembered. Beyond it, the least recently used one is forgotten: its bucket counts as full. */
const KEYS_MAX = 100_000;

interface Entry {
  readonly bucket: TokenBucket;
  /** When the bucket is full again and can be removed. */
  fullAtMs: number;
}

/** A token bucket for each key, such as a client address or an app. Memory is bounded; full buckets are removed. */
export class RateLimiter<Key> {
  private readonly keysMax: number;
  /** The least recently used first. */
  private readonly entries = new OldestFirst<Key, Entry>();
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

  /** Takes tokens for something that has already happened: the bucket may go below zero. */
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

  /** How many keys are remembered. */
  get size(): number {
    return this.entries.size;
  }

  /** Returns the entry of a key, and marks it as the most recently used. */
  private used(key: Key, rate: Rate, nowMs: number): Entry {
    let entry = this.entries.get(key);
    if (entry === undefined) {
      this.makeRoom(nowMs);
      entry = { bucket: new TokenBucket(rate, nowMs), fullAtMs: nowMs };
    }
    this.entries.set(key, entry);
    return entry;
  }

  private makeRoom(nowMs: number): void {
    if (this.entries.size >= this.cleanAt) {
      for (const [key, { fullAtMs }] of this.entries)
        if (fullAtMs <= nowMs) this.entries.delete(key);
      // Next at twice the size, so that cleaning takes constant time for each new key.
      this.cleanAt = Math.max(CLEAN_FROM, 2 * this.entries.size);
    }
    const oldest = this.entries.size < this.keysMax ? undefined : this.entries.oldest();
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}
