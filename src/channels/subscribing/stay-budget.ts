import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { Clock } from '../../runtime/ports.ts';
import type { App } from '../app.ts';

/**
 * The members that may stay in presence channels although their connections on this loop have ended. Clients that come and
 * go as ever new members must not fill the memory. Each counts for its whole grace: whether it has returned, maybe to
 * another server, only the authority knows.
 */
export class StayBudget {
  private readonly budget: FairBudget;
  /** A monotonic clock. */
  private readonly clock: Clock;
  /** How many end in each second, by app. */
  private readonly ends = new Map<number, Map<string, number>>();
  private releasedAtSecond = 0;

  constructor(limit: number, clock: Clock) {
    this.budget = new FairBudget(limit);
    this.clock = clock;
  }

  /** Counts a member that stays; `false` if it may not: an app may use no more than it leaves free. */
  take(app: App, seconds: number): boolean {
    const { budget } = this;
    const now = Math.floor(this.clock.now() / 1000);
    this.release(now);
    if (budget.of(app.id) + 1 > budget.capacity - budget.total) return false;
    budget.add(app.id);
    const ending = this.ends.getOrInsertComputed(now + seconds + 1, () => new Map());
    ending.set(app.id, (ending.get(app.id) ?? 0) + 1);
    return true;
  }

  private release(now: number): void {
    if (now === this.releasedAtSecond) return;
    this.releasedAtSecond = now;
    // No more entries than seconds of the longest grace.
    for (const [second, ending] of this.ends) {
      if (second > now) continue;
      this.ends.delete(second);
      for (const [appId, count] of ending) this.budget.release(appId, count);
    }
  }
}
