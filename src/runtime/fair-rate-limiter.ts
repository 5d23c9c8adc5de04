import { RateLimiter } from './rate-limiter.ts';
import type { Rate } from './token-bucket.ts';

/** Members that are remembered at most. Beyond it, the one that took longest ago counts as one that took nothing. */
const MEMBERS_MAX = 100_000;

/** After so many times of filling a bucket, less than a hundredth of what a member took is left of it. */
const FILLINGS_REMEMBERED = 5;

/** Once half of a bucket is gone, no member may have taken more of it than this part of what is left. */
const PART = 1 / 20;

/** What each member may have however little is left: what one phone that starts asks for. */
const FEW_TOKENS = 10;

interface Taken {
  readonly tokens: number;
  readonly atMs: number;
  readonly forgottenAtMs: number;
}

/**
 * A token bucket for each group, which its members share: of an instance, the client addresses of its devices.
 *
 * While a bucket is at least half full, any member may take from it. Below that, a member is refused where it would have
 * taken more lately than a small part of what is left, so those that took most wait first. However fast some members
 * ask, one that takes no more than a fortieth of the rate is served; beside more than 40 such members, one that takes
 * no more than an equal share. What a member took fades with the time in which its bucket fills: to a third in one such
 * time. Memory is bounded.
 */
export class FairRateLimiter<Group extends string | number> {
  private readonly buckets = new RateLimiter<Group>();
  private readonly membersMax: number;
  /** By group and member, the one that took longest ago first. */
  private readonly taken = new Map<string, Taken>();

  constructor(membersMax = MEMBERS_MAX) {
    this.membersMax = membersMax;
  }

  /** Takes `tokens` for a member from the bucket of its group, if they are there and others are not to have them. */
  take(group: Group, member: string, rate: Rate, nowMs: number, tokens = 1): boolean {
    const key = `${group} ${member}`;
    const fillMs = (rate.burst * 1000) / rate.perSecond;
    const taken = tokens + this.takenLately(key, fillMs, nowMs);
    const left = this.buckets.left(group, rate, nowMs);
    if (left < rate.burst / 2 && taken > Math.max(PART * left, FEW_TOKENS)) return false;
    if (!this.buckets.take(group, rate, nowMs, tokens)) return false;
    this.taken.delete(key);
    this.forgetSome(nowMs);
    this.taken.set(key, {
      tokens: taken,
      atMs: nowMs,
      forgottenAtMs: nowMs + FILLINGS_REMEMBERED * fillMs,
    });
    return true;
  }

  /** How many members are remembered. */
  get size(): number {
    return this.taken.size;
  }

  private takenLately(key: string, fillMs: number, nowMs: number): number {
    const entry = this.taken.get(key);
    if (entry === undefined) return 0;
    // A clock that was set back makes nothing more of it.
    const elapsedMs = Math.max(0, nowMs - entry.atMs);
    return entry.tokens * Math.exp(-elapsedMs / fillMs);
  }

  private forgetSome(nowMs: number): void {
    for (const [key, { forgottenAtMs }] of this.taken) {
      if (forgottenAtMs > nowMs && this.taken.size < this.membersMax) return;
      this.taken.delete(key);
    }
  }
}
