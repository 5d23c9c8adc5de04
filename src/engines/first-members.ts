/** A member with its serial number. */
interface Numbered {
  readonly number: number;
}

/**
 * The first members of a large channel. It keeps its place among all of them, because a new iterator of a map first walks over what
 * was deleted, which would cost each newcomer more in a full channel than in an empty one.
 */
export class FirstMembers<Member extends Numbered> {
  private readonly all: ReadonlyMap<string, Member>;
  private readonly most: number;
  private readonly first = new Set<Member>();
  private rest: Iterator<Member, unknown> | undefined;
  /** Everybody up to this number is among the first, or has left. */
  private lastNumber = 0;

  /** `all`: in the order of their numbers. */
  constructor(all: ReadonlyMap<string, Member>, most: number) {
    this.all = all;
    this.most = most;
  }

  /** Must be called for each member that leaves. */
  left(member: Member): void {
    this.first.delete(member);
  }

  list(): ReadonlySet<Member> {
    while (this.first.size < Math.min(this.most, this.all.size)) {
      const next = this.next();
      if (next === undefined) break;
      this.first.add(next);
    }
    return this.first;
  }

  private next(): Member | undefined {
    this.rest ??= this.all.values();
    for (;;) {
      const { done, value } = this.rest.next();
      if (done === true) {
        // Those who join later are behind the end of an iterator.
        this.rest = undefined;
        return undefined;
      }
      if (value.number <= this.lastNumber) continue;
      this.lastNumber = value.number;
      return value;
    }
  }
}
