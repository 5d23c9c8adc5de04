import type { FairBudget } from '../../../runtime/fairness/fair-budget.ts';
import type { Clock } from '../../../runtime/ports.ts';
import { STAY_ROUNDED_MS } from '../scripts/changes.ts';
import { GRACE_MS } from '../scripts/webhook-events.ts';

/** Characters that a change costs in addition to its name. */
const CHANGE_CHARACTERS = 100;

/** The limit of changes that are asked for in one call, so that no script runs for long. */
const ASKED_MAX = 100;

const NEVER_MS = Number.POSITIVE_INFINITY;

/** The kinds of arrivals, by those of departures. */
const ARRIVALS: Readonly<Record<string, string>> = { r: 'a', v: 'o', d: 'u' };

/** The name of a departure, and whether that or the opposite was stated. */
export type StatedDeparture = readonly [departure: string, isGone: boolean];

/** A departure, and whether the arrival before it was not reported either. */
type LostDeparture = readonly [name: string, ageMs: number, isWhole: boolean];

interface Change {
  readonly sinceMs: number;
  /** For how long it waits at least once it is stated. */
  readonly delayMs: number;
  /** From when on it is asked for; `undefined`: it is not stated yet. */
  askAtMs: number | undefined;
}

/** A change that a node asks for, and the time from which on it does. */
type DueChange = readonly [name: string, askAtMs: number];

/**
 * Changes of a partition that are reported later: departures, which count after 3 s or what the app says, and arrivals after a loss of data. The node that
 * has stated them asks for their events before others may. What it has not asked for when Redis loses its data, nobody has, so it
 * states that again.
 *
 * They are named by kind and subject, as in the script `CLAIM`. What exceeds the budget is not noted: others report it a little later,
 * and nobody if Redis loses its data.
 */
export class OwnChanges {
  private readonly budget: FairBudget;
  private readonly clock: Clock;
  /** The oldest first. */
  private readonly changes = new Map<string, Change>();
  /** None is to be asked for before this. */
  private askFromMs = NEVER_MS;

  /** `budget`: characters, shared by all partitions. An app may use no more than it leaves free. */
  constructor(budget: FairBudget, clock: Clock) {
    this.budget = budget;
    this.clock = clock;
  }

  /** A departure that will be stated, of a member that may stay for a while, or of a channel with such a member. */
  note(name: string, graceMs = 0): void {
    if (graceMs === 0) return this.set(name, undefined, GRACE_MS);
    const memberMs = Math.max(GRACE_MS, graceMs + STAY_ROUNDED_MS);
    // Other nodes ask for the departures of other members up to this much later.
    const isChannel = name.startsWith('v');
    this.set(name, undefined, isChannel ? memberMs + STAY_ROUNDED_MS : memberMs);
  }

  /** The last connection here of a user has ended, which will be stated. */
  noteUser(name: string, offlineMs: number): void {
    this.set(name, undefined, offlineMs);
  }

  /**
   * Departures were stated, if they had been noted, or the opposite was. `owed` names arrivals that wait until all nodes have stated
   * what they hold.
   */
  stated(names: readonly StatedDeparture[], owed: ReadonlySet<string>): void {
    const nowMs = this.clock.now();
    for (const [name, isGone] of names) {
      const change = this.changes.get(name);
      if (!isGone) this.arrived(name, owed);
      else if (change !== undefined) this.askAt(change, nowMs + change.delayMs);
    }
  }

  private arrived(departure: string, owed: ReadonlySet<string>): void {
    const arrival = arrivalOf(departure);
    const isOwed = owed.has(arrival);
    const [before, gone] = [this.changes.get(arrival), this.changes.get(departure)];
    const wasReported = before === undefined || gone === undefined || before.sinceMs > gone.sinceMs;
    // The departure is reported before an arrival that is owed, unless nothing was reported before it.
    if (!isOwed || !wasReported) this.forget(departure);
    if (isOwed && before === undefined) {
      this.set(arrival, this.clock.now() + GRACE_MS, GRACE_MS);
    }
  }

  has(name: string): boolean {
    return this.changes.has(name);
  }

  forget(name: string): void {
    if (!this.changes.delete(name)) return;
    this.budget.release(appOf(name), costOf(name));
  }

  clear(): void {
    for (const name of [...this.changes.keys()]) this.forget(name);
    this.askFromMs = NEVER_MS;
  }

  /** Until the next one is to be asked for; `undefined`: none is. */
  get waitMs(): number | undefined {
    const nowMs = this.clock.now();
    if (this.askFromMs <= nowMs) this.askFromMs = this.earliestMs();
    return this.askFromMs === NEVER_MS ? undefined : Math.max(0, this.askFromMs - nowMs);
  }

  /** Those that are to be asked for now. */
  due(): readonly DueChange[] {
    const nowMs = this.clock.now();
    const due: DueChange[] = [];
    for (const [name, { askAtMs }] of this.changes) {
      if (due.length === ASKED_MAX) break;
      if (askAtMs !== undefined && askAtMs <= nowMs) due.push([name, askAtMs]);
    }
    return due;
  }

  /** Redis has answered: their events are reported or were cancelled, or are to be asked for again after a time that is not 0. */
  asked(changes: readonly DueChange[], againMs: number): void {
    for (const [name, askedAtMs] of changes) {
      const change = this.changes.get(name);
      // It may have been stated anew.
      if (change?.askAtMs !== askedAtMs) continue;
      if (againMs === 0) this.forget(name);
      else this.askAt(change, this.clock.now() + againMs);
    }
  }

  /** The departures that Redis has lost. */
  lost(): readonly LostDeparture[] {
    const nowMs = this.clock.now();
    const lost: LostDeparture[] = [];
    const arrived = new Set<string>();
    for (const [name, { sinceMs }] of this.changes) {
      const arrival = arrivalOf(name);
      if (arrival === name) arrived.add(name);
      else lost.push([name, Math.round(nowMs - sinceMs), arrived.has(arrival)]);
    }
    return lost;
  }

  /** Puts it behind all others. */
  private set(name: string, askAtMs: number | undefined, delayMs: number): void {
    this.forget(name);
    const { budget } = this;
    const [app, cost] = [appOf(name), costOf(name)];
    if (budget.of(app) + cost > budget.capacity - budget.total) return;
    budget.add(app, cost);
    const change = { sinceMs: this.clock.now(), delayMs, askAtMs: undefined };
    this.changes.set(name, change);
    if (askAtMs !== undefined) this.askAt(change, askAtMs);
  }

  private askAt(change: Change, atMs: number): void {
    change.askAtMs = atMs;
    this.askFromMs = Math.min(this.askFromMs, atMs);
  }

  private earliestMs(): number {
    let earliestMs = NEVER_MS;
    for (const { askAtMs = NEVER_MS } of this.changes.values()) {
      earliestMs = Math.min(earliestMs, askAtMs);
    }
    return earliestMs;
  }
}

/** The name of the arrival of what has left. Of an arrival, the same. */
function arrivalOf(name: string): string {
  return (ARRIVALS[name.charAt(0)] ?? name.charAt(0)) + name.slice(1);
}

function appOf(name: string): string {
  return name.slice(1, name.indexOf('/'));
}

function costOf(name: string): number {
  return name.length + CHANGE_CHARACTERS;
}
