import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import { OldestFirst } from '../../runtime/oldest-first.ts';
import type { Clock } from '../../runtime/ports.ts';

/** For how long it is kept when a user was last seen. Milliseconds. */
export const LAST_SEEN_MS = 7 * 24 * 3_600_000;

/** The limit of users of one app that are forgotten at once because their time is over. */
const FORGOTTEN_AT_ONCE = 100;

/**
 * When the users were last seen that are offline, by app. At the limit, the app with the most users forgets the one that was
 * seen longest ago.
 */
export class LastSeen {
  /** By app and user, in the order of these times. The apps are in the order of their latest. */
  private readonly apps = new OldestFirst<string, OldestFirst<string, number>>();
  private readonly budget: FairBudget;
  private readonly clock: Clock;

  /** `max`: the limit for all apps. Each user takes about 200 bytes. */
  constructor(max: number, clock: Clock) {
    this.budget = new FairBudget(max);
    this.clock = clock;
  }

  get size(): number {
    return this.budget.total;
  }

  /** Milliseconds since 1970; `undefined`: it is not known. */
  of(appId: string, userId: string): number | undefined {
    const seenAtMs = this.apps.get(appId)?.get(userId);
    return seenAtMs === undefined || this.isOver(seenAtMs) ? undefined : seenAtMs;
  }

  set(appId: string, userId: string, seenAtMs: number): void {
    this.forget(appId, userId);
    this.forgetOver(appId);
    const idle = this.apps.oldest();
    if (idle !== undefined) this.forgetOver(idle);
    for (;;) {
      const yielding = this.budget.ownerToEvict(appId);
      if (yielding === undefined) break;
      const oldest = this.apps.get(yielding)?.oldest();
      if (oldest === undefined) return;
      this.forget(yielding, oldest);
    }
    const users = this.apps.get(appId) ?? new OldestFirst<string, number>();
    this.apps.set(appId, users);
    users.set(userId, seenAtMs);
    this.budget.add(appId);
  }

  forget(appId: string, userId: string): void {
    const users = this.apps.get(appId);
    if (users?.delete(userId) !== true) return;
    this.budget.release(appId);
    if (users.size === 0) this.apps.delete(appId);
  }

  /** Forgets all users of an app. */
  forgetApp(appId: string): void {
    this.budget.release(appId, this.apps.get(appId)?.size ?? 0);
    this.apps.delete(appId);
  }

  private forgetOver(appId: string): void {
    const users = this.apps.get(appId);
    for (let n = 0; n < FORGOTTEN_AT_ONCE; n++) {
      const oldest = users?.oldest();
      const seenAtMs = oldest === undefined ? undefined : users?.get(oldest);
      if (oldest === undefined || seenAtMs === undefined || !this.isOver(seenAtMs)) return;
      this.forget(appId, oldest);
    }
  }

  private isOver(seenAtMs: number): boolean {
    return seenAtMs <= this.clock.now() - LAST_SEEN_MS;
  }
}
