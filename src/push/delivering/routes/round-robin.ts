/** An item that waits among others of the same owner. */
export interface Owned {
  readonly owner: object;
}

interface OwnerQueue<Item> {
  readonly owner: object;
  readonly items: Item[];
}

/**
 * A queue in which owners take turns, so that an owner with one item need not wait for all items of another. An item
 * keeps its owner's turn until it is removed, so few items are in progress at the same time.
 */
export class RoundRobin<Item extends Owned> {
  private readonly queues: OwnerQueue<Item>[] = [];
  private readonly byOwner = new Map<object, OwnerQueue<Item>>();
  private count = 0;
  /** The queue whose turn is next. */
  private place = 0;

  get isEmpty(): boolean {
    return this.queues.length === 0;
  }

  get size(): number {
    return this.count;
  }

  add(item: Item): void {
    this.count++;
    const known = this.byOwner.get(item.owner);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    const queue = { owner: item.owner, items: [item] };
    this.queues.push(queue);
    this.byOwner.set(item.owner, queue);
  }

  remove(item: Item): void {
    const queue = this.byOwner.get(item.owner);
    const index = queue?.items.indexOf(item) ?? -1;
    if (queue === undefined || index === -1) return;
    queue.items.splice(index, 1);
    this.count--;
    if (queue.items.length > 0) return;
    const place = this.queues.indexOf(queue);
    this.queues.splice(place, 1);
    this.byOwner.delete(item.owner);
    if (place < this.place) this.place--;
  }

  /** A copy of all items, newest first. */
  newestFirst(): readonly Item[] {
    return this.queues.flatMap(({ items }) => items).reverse();
  }

  /**
   * Returns the next owner's item that `isAllowed`. `random`, from 0 to 1 excluded, picks one of the owner's items;
   * without it, only the first is considered.
   */
  next(isAllowed: (item: Item) => boolean, random?: number): Item | undefined {
    for (let tried = this.queues.length; tried > 0; tried--) {
      if (this.place >= this.queues.length) this.place = 0;
      const items = this.queues[this.place]?.items ?? [];
      this.place++;
      const item = random === undefined ? items[0] : pick(items.filter(isAllowed), random);
      if (item !== undefined && isAllowed(item)) return item;
    }
    return undefined;
  }
}

function pick<Item>(items: readonly Item[], random: number): Item | undefined {
  return items[Math.floor(random * items.length)];
}
