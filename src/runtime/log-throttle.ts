import { type Rate, TokenBucket } from './token-bucket.ts';

/** Keys that are remembered; beyond it, the one used least recently is logged as if it were new. */
const KEYS_MAX = 1_000;

/** Once at once, and then once a minute. */
const ONCE_A_MINUTE: Rate = { perSecond: 1 / 60, burst: 1 };

interface Entry {
  readonly bucket: TokenBucket;
  notLogged: number;
}

/** Fields to add to a line that stands for others as well. */
export interface Throttled {
  readonly notLogged?: number;
}

/** Logs each kind of line no more often than a rate, and says with the next one how many were left out. */
export class LogThrottle {
  private readonly clock: { now(): number };
  private readonly rate: Rate;
  /** The least recently used first. */
  private readonly entries = new Map<string, Entry>();

  constructor(clock: { now(): number }, rate = ONCE_A_MINUTE) {
    this.clock = clock;
    this.rate = rate;
  }

  /** Runs `log`, or counts that it did not. `key` tells the kinds of lines apart, and whose they are. */
  run(key: string, log: (throttled: Throttled) => void): void {
    const nowMs = this.clock.now();
    const entry = this.entries.get(key) ?? {
      bucket: new TokenBucket(this.rate, nowMs),
      notLogged: 0,
    };
    this.entries.delete(key);
    this.entries.set(key, entry);
    this.dropOldest();
    if (!entry.bucket.take(this.rate, nowMs)) {
      entry.notLogged++;
      return;
    }
    const { notLogged } = entry;
    entry.notLogged = 0;
    log(notLogged === 0 ? {} : { notLogged });
  }

  private dropOldest(): void {
    if (this.entries.size <= KEYS_MAX) return;
    for (const key of this.entries.keys()) {
      this.entries.delete(key);
      return;
    }
  }
}
