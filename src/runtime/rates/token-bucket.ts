/** A rate limit. Both numbers are positive. */
export interface Rate {
  /** The sustained rate. */
  readonly perSecond: number;
  /** How many may happen at once after a pause. */
  readonly burst: number;
}

/** A rate whose burst is one second's worth. */
export function perSecond(count: number): Rate {
  return { perSecond: count, burst: count };
}

/**
 * Allows a burst at once, and the sustained rate after that. A fixed window would allow twice as many around its edge.
 */
export class TokenBucket {
  private tokens: number;
  private refilledAtMs: number;

  /** Starts full. */
  constructor({ burst }: Rate, nowMs: number) {
    this.tokens = burst;
    this.refilledAtMs = nowMs;
  }

  /** Takes `tokens`, if they are there. The rate may differ from call to call: settings change. */
  take(rate: Rate, nowMs: number, tokens = 1): boolean {
    if (!this.has(rate, nowMs, tokens)) return false;
    this.tokens -= tokens;
    return true;
  }

  /** Whether `tokens` are there to be taken. */
  has(rate: Rate, nowMs: number, tokens = 1): boolean {
    return this.left(rate, nowMs) >= tokens;
  }

  /** The number of tokens; negative after `charge`. */
  left({ perSecond, burst }: Rate, nowMs: number): number {
    if (nowMs === this.refilledAtMs && this.tokens <= burst) return this.tokens;
    // A clock that was set back counts as no time.
    const elapsedMs = Math.max(0, nowMs - this.refilledAtMs);
    this.tokens = Math.min(burst, this.tokens + (elapsedMs * perSecond) / 1000);
    this.refilledAtMs = nowMs;
    return this.tokens;
  }

  /** When it is full again if nothing is taken until then. */
  fullAtMs({ perSecond, burst }: Rate): number {
    return this.refilledAtMs + ((burst - this.tokens) * 1000) / perSecond;
  }

  /** Takes tokens for something whose cost is only known afterwards: the bucket may go below zero. */
  charge(tokens: number): void {
    this.tokens -= tokens;
  }
}
