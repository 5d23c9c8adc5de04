interface Item {
  readonly score: number;
  readonly member: string;
}

/** Members in the order of their scores; of equal scores, in the order of their bytes. */
export class SortedSet {
  private readonly scores = new Map<string, number>();
  private readonly items: Item[] = [];

  get size(): number {
    return this.scores.size;
  }

  get ordered(): readonly Item[] {
    return this.items;
  }

  score(member: string): number | undefined {
    return this.scores.get(member);
  }

  set(member: string, score: number): void {
    const before = this.scores.get(member);
    if (before === score) return;
    if (before !== undefined) this.items.splice(this.place({ member, score: before }), 1);
    this.scores.set(member, score);
    const item = { member, score };
    this.items.splice(this.place(item), 0, item);
  }

  delete(member: string): boolean {
    const score = this.scores.get(member);
    if (score === undefined) return false;
    this.scores.delete(member);
    this.items.splice(this.place({ member, score }), 1);
    return true;
  }

  /** The number of items before this one. */
  private place({ member, score }: Item): number {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const item = this.items[middle];
      if (item === undefined) break;
      if (item.score < score || (item.score === score && item.member < member)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
