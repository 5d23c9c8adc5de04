/** Something that waits for its turn among others of the same owner. */
export interface Waiting {
  readonly owner: object;
}

interface Line<Item> {
  readonly owner: object;
  readonly items: Item[];
}

/**
 * Lets owners take turns, so that one with little does not wait for the end of one with much. Of one owner, the
 * first item keeps the turn until it is taken out: few are begun at the same time.
 */
export class Turns<Item extends Waiting> {
  private readonly lines: Line<Item>[] = [];
  private readonly byOwner = new Map<object, Line<Item>>();
  private place = 0;

  get isEmpty(): boolean {
    return this.lines.length === 0;
  }

  add(item: Item): void {
    const known = this.byOwner.get(item.owner);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    const line = { owner: item.owner, items: [item] };
    this.lines.push(line);
    this.byOwner.set(item.owner, line);
  }

  remove(item: Item): void {
    const line = this.byOwner.get(item.owner);
    const index = line?.items.indexOf(item) ?? -1;
    if (line === undefined || index === -1) return;
    line.items.splice(index, 1);
    if (line.items.length > 0) return;
    const place = this.lines.indexOf(line);
    this.lines.splice(place, 1);
    this.byOwner.delete(item.owner);
    if (place < this.place) this.place--;
  }

  /** A copy of all that wait, newest first. */
  newestFirst(): readonly Item[] {
    return this.lines.flatMap(({ items }) => items).reverse();
  }

  /**
   * Whose turn it is, among those that may have one. The next time it is another's. `random`, from 0 to 1 excluded,
   * picks one of the owner's items; without it, that is the first or none.
   */
  next(mayHaveOne: (item: Item) => boolean, random?: number): Item | undefined {
    for (let tried = this.lines.length; tried > 0; tried--) {
      if (this.place >= this.lines.length) this.place = 0;
      const items = this.lines[this.place]?.items ?? [];
      this.place++;
      const item = random === undefined ? items[0] : oneOf(items.filter(mayHaveOne), random);
      if (item !== undefined && mayHaveOne(item)) return item;
    }
    return undefined;
  }
}

function oneOf<Item>(items: readonly Item[], random: number): Item | undefined {
  return items[Math.floor(random * items.length)];
}
