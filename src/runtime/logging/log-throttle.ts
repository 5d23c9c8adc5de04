import { type Rate, TokenBucket } from '../rates/token-bucket.ts';

/** Keys with a rate of their own. While all are in use, further keys share one. */
const KEYS_MAX = 1_000;

const ONCE_A_MINUTE: Rate = { perSecond: 1 / 60, burst: 1 };

class Entry {
  readonly bucket: TokenBucket;
  notLogged = 0;

  constructor(rate: Rate, nowMs: number) {
    this.bucket = new TokenBucket(rate, nowMs);
  }
}

/** Field to add to a line that represents others as well: how many were not logged. */
export interface Throttled {
  readonly notLogged?: number;
}

/** Limits how often each kind of line is logged; the next line says how many were left out. */
export class LogThrottle {
  private readonly clock: { now(): number };
  private readonly rate: Rate;
  private readonly keysMax: number;
  /** The least recently used first. */
  private readonly entries = new Map<string, Entry>();
  /** Shared by all keys without an entry: if each started with a burst, many keys would have no limit. */
  private readonly others: Entry;

  constructor(clock: { now(): number }, rate = ONCE_A_MINUTE, keysMax = KEYS_MAX) {
    this.clock = clock;
    this.rate = rate;
    this.keysMax = keysMax;
    this.others = new Entry(rate, clock.now());
  }

  /**
   * Runs `log`, or counts a line that was left out. `key` is the kind of line and its owner. `lines`: how many lines
   * this one represents.
   */
  run(key: string, log: (throttled: Throttled) => void, lines = 1): void {
    const nowMs = this.clock.now();
    const entry = this.entryOf(key, nowMs);
    const notLogged = entry.notLogged + lines - 1;
    const logs = entry.bucket.take(this.rate, nowMs);
    entry.notLogged = logs ? 0 : notLogged + 1;
    if (logs) log(notLogged === 0 ? {} : { notLogged });
  }

  private entryOf(key: string, nowMs: number): Entry {
    const known = this.entries.get(key);
    if (known === undefined && !this.makeRoom(nowMs)) return this.others;
    const entry = known ?? new Entry(this.rate, nowMs);
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry;
  }

  /** Forgets the least recently used key if its bucket is full. Its left-out lines count for `others`. */
  private makeRoom(nowMs: number): boolean {
    if (this.entries.size < this.keysMax) return true;
    const [oldest] = this.entries;
    if (oldest === undefined) return false;
    const [key, { bucket, notLogged }] = oldest;
    if (!bucket.has(this.rate, nowMs, this.rate.burst)) return false;
    this.entries.delete(key);
    this.others.notLogged += notLogged;
    return true;
  }
}
