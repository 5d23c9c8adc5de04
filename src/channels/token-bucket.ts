/**
 * Lets through `perSecond` at once and as many each second after that. A fixed window would let twice as
 * many through around its edge.
 */
export class TokenBucket {
  private tokens: number;
  private refilledAt: number;

  constructor(perSecond: number, nowMs: number) {
    this.tokens = perSecond;
    this.refilledAt = nowMs;
  }

  /** Takes so many, if they are there. The rate may differ from call to call: settings change. */
  take(perSecond: number, nowMs: number, tokens = 1): boolean {
    // A clock that was set back gives nothing, and takes nothing away.
    const elapsedMs = Math.max(0, nowMs - this.refilledAt);
    this.tokens = Math.min(perSecond, this.tokens + (elapsedMs * perSecond) / 1000);
    this.refilledAt = nowMs;
    if (this.tokens < tokens) return false;
    this.tokens -= tokens;
    return true;
  }
}
