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

/** FNV-1a, mixed once more: the sets are combined by XOR, which needs bits that do not depend on each other. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
