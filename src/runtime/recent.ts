import { OldestFirst } from './oldest-first.ts';

/** A map that keeps the last `max` keys that were set. A key that is set again becomes the newest. */
export class Recent<Key, Value> extends OldestFirst<Key, Value> {
  private readonly max: number;

  constructor(max: number) {
    super();
    this.max = max;
  }

  override set(key: Key, value: Value): this {
    super.set(key, value);
    const oldest = this.size > this.max ? this.oldest() : undefined;
    if (oldest !== undefined) this.delete(oldest);
    return this;
  }

  /** Removes a key, and returns its value. */
  take(key: Key): Value | undefined {
    const value = this.get(key);
    this.delete(key);
    return value;
  }
}

/** A set that keeps the last `max` members that were added. A member that is added again becomes the newest. */
export class RecentSet<Member> {
  private readonly members: Recent<Member, true>;

  constructor(max: number) {
    this.members = new Recent(max);
  }

  get size(): number {
    return this.members.size;
  }

  has(member: Member): boolean {
    return this.members.has(member);
  }

  add(member: Member): void {
    this.members.set(member, true);
  }

  delete(member: Member): void {
    this.members.delete(member);
  }

  clear(): void {
    this.members.clear();
  }

  /** Removes all members, and returns them, the oldest first. */
  takeAll(): readonly Member[] {
    const all = [...this.members.keys()];
    this.members.clear();
    return all;
  }
}
