import { hashOf } from './texts.ts';

/** A set of users that each may be in several times, with a fingerprint by which two of them are compared at once. */
export class Roster {
  private readonly times = new Map<string, number>();
  /** The same for equal sets of users, and nearly always different for others. */
  fingerprint = 0;

  constructor(users: Iterable<string> = []) {
    for (const user of users) if (!this.has(user)) this.add(user);
  }

  get size(): number {
    return this.times.size;
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
    if (times === 0) this.fingerprint ^= hashOf(user);
  }

  remove(user: string): void {
    const times = this.times.get(user);
    if (times === undefined) return;
    if (times > 1) {
      this.times.set(user, times - 1);
      return;
    }
    this.times.delete(user);
    this.fingerprint ^= hashOf(user);
  }

  equals(other: Roster): boolean {
    return this.size === other.size && this.fingerprint === other.fingerprint;
  }
}
