import { OldestFirst } from '../oldest-first.ts';
import { RateLimiter } from './rate-limiter.ts';
import type { Rate } from './token-bucket.ts';

/**
 * The limit of remembered members. Beyond it, the one that took longest ago is forgotten, as if it had taken nothing.
 */
const MEMBERS_MAX = 100_000;

/** Refill times after which a member is forgotten: less than 1 % of what it took would still count. */
const FILLINGS_REMEMBERED = 5;

/** The largest share of the remaining tokens that the recent usage of one member may reach, once the bucket is below half. */
const SHARE = 1 / 20;

/** What each member may have however little is left: the requests of one phone that starts. */
const FEW_TOKENS = 10;

/** A member of a group that shares a bucket. */
export interface RateMember<Group extends string | number> {
  readonly group: Group;
  readonly member: string;
}

interface Taken {
  readonly tokens: number;
  readonly atMs: number;
  readonly forgottenAtMs: number;
}

/**
 * A token bucket for each group, shared fairly by its members: for example an instance and its client addresses.
 *
 * While the bucket is at least half full, any member may take from it. Below that, a member is refused if its recent
 * usage would exceed 1/20 of what is left, so those that took most are refused first. However fast others ask, a
 * member that takes at most 1/40 of the rate is served; if there are more than 40 greedy members, one that takes at
 * most an equal share. Usage decays exponentially with the refill time of the bucket. Memory is bounded.
 */
export class FairRateLimiter<Group extends string | number> {
  private readonly buckets = new RateLimiter<Group>();
  private readonly membersMax: number;
  /** By group and member, the one that took longest ago first. */
  private readonly taken = new OldestFirst<string, Taken>();

  constructor(membersMax = MEMBERS_MAX) {
    this.membersMax = membersMax;
  }

  /** Takes `tokens` from the bucket of the member's group, if they are there and within the member's share. */
  take({ group, member }: RateMember<Group>, rate: Rate, nowMs: number, tokens = 1): boolean {
    const key = `${group} ${member}`;
    const fillMs = (rate.burst * 1000) / rate.perSecond;
    const taken = tokens + this.takenLately(key, fillMs, nowMs);
    const left = this.buckets.left(group, rate, nowMs);
    if (left < rate.burst / 2 && taken > Math.max(SHARE * left, FEW_TOKENS)) return false;
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

  /** Charges tokens for requests that another loop has accepted. The bucket may become negative. */
  charge(group: Group, rate: Rate, nowMs: number, tokens: number): void {
    this.buckets.charge(group, rate, nowMs, tokens);
  }

  /** How many members are remembered. */
  get size(): number {
    return this.taken.size;
  }

  private takenLately(key: string, fillMs: number, nowMs: number): number {
    const entry = this.taken.get(key);
    if (entry === undefined) return 0;
    // A clock that was set back counts as no time.
    const elapsedMs = Math.max(0, nowMs - entry.atMs);
    return entry.tokens * Math.exp(-elapsedMs / fillMs);
  }

  private forgetSome(nowMs: number): void {
    for (;;) {
      const oldest = this.taken.oldest();
      const entry = oldest === undefined ? undefined : this.taken.get(oldest);
      if (oldest === undefined || entry === undefined) return;
      if (entry.forgottenAtMs > nowMs && this.taken.size < this.membersMax) return;
      this.taken.delete(oldest);
    }
  }
}
