import type { DeliveryBacklog, Job } from './model/delivery.ts';

/**
 * Claims of plans and jobs. A claim gives one server the right to work on something until a time; the server extends,
 * settles or releases it. An expired claim may be claimed by any server, so a crash loses no work.
 *
 * Work of a deleted instance is never claimed.
 */
export interface WorkClaims {
  /** Extends claims of this server. Those that another server has claimed since are left alone. */
  extend(claims: OwnClaims, untilMs: number): Promise<void>;
  /**
   * Gives jobs back that wait for open circuits only, and that this server no longer has in memory. All results of theirs
   * are recorded. Any server may claim them from `readyAtMs` on. Until then, their pages are held, see `BacklogStore`.
   */
  hold(jobs: readonly Job[], readyAtMs: number): Promise<void>;
  /** Releases claims: this server's, for its stop; or those of all servers, for the start of the only one. */
  release(whose: 'own' | 'all'): Promise<void>;
  /**
   * When work is next due, or its claim expires; may be in the past. Ignores the instances of `except`. `undefined`:
   * nothing waits.
   */
  nextDue(except?: readonly number[]): Promise<number | undefined>;
  /**
   * Adjusts times after the clock was set back from `beforeMs` to `nowMs`, so that nothing waits longer for it. What
   * was due by `beforeMs` is due now, retries keep their remaining pause, and this server's claims end now; it must
   * extend those it still works on at the same time.
   */
  clockSetBack(nowMs: number, beforeMs: number): Promise<void>;
  backlog(): Promise<DeliveryBacklog>;
}

export interface OwnClaims {
  /** The numbers of their publishes. */
  readonly plans: readonly number[];
  readonly jobs: readonly Job[];
}
