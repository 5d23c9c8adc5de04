import { hashOf } from './texts.ts';

/** A set of users that each may be in several times, with a number by which two of them are compared at once. */
export class Roster {
  private readonly times = new Map<string, number>();
  private hash = 0;

  constructor(users: Iterable<string> = []) {
    for (const user of new Set(users)) this.add(user);
  }

  /** The same for equal sets of users, and nearly always different for others. */
  get fingerprint(): number {
    return this.times.size * 2 ** 32 + this.hash;
  }

  get users(): readonly string[] {
    return [...this.times.keys()];
  }

  has(user: string): boolean {
    return this.times.has(user);
  }

  add(user: string): void {
    const times = this.times.get(user) ?? 0;
    this.times.set(user, times + 1);
    if (times === 0) this.hash ^= hashOf(user);
  }

  remove(user: string): void {
    const times = this.times.get(user) ?? 0;
    if (times > 1) this.times.set(user, times - 1);
    else if (this.times.delete(user)) this.hash ^= hashOf(user);
  }
}

/** How many subscribers were told something, and how many of them something wrong. */
export interface Believers {
  all: number;
  wrong: number;
}

/** What the subscribers of one channel were told about it, and what is true: compared in constant time, however many they are. */
export class Beliefs {
  private readonly believers = new Map<number, number>();
  private readonly total: Believers;
  private all = 0;
  private true = 0;

  /** `total`: the sums over all channels. */
  constructor(total: Believers) {
    this.total = total;
  }

  /** A subscriber is told something else; `undefined`: nothing, before or any more. */
  change(before: number | undefined, now: number | undefined): void {
    this.count(-1);
    for (const [belief, change] of [
      [before, -1],
      [now, 1],
    ] as const) {
      if (belief === undefined) continue;
      this.all += change;
      const left = (this.believers.get(belief) ?? 0) + change;
      if (left === 0) this.believers.delete(belief);
      else this.believers.set(belief, left);
    }
    this.count(1);
  }

  becomesTrue(now: number): void {
    this.count(-1);
    this.true = now;
    this.count(1);
  }

  private count(sign: 1 | -1): void {
    this.total.all += sign * this.all;
    this.total.wrong += sign * (this.all - (this.believers.get(this.true) ?? 0));
  }
}
