import { FairBudget } from './fair-budget.ts';

/** How much may wait in all: items, and the bytes (or characters) that they keep in memory. */
export interface QueueCapacity {
  readonly items: number;
  readonly bytes: number;
}

/** How much of the capacity one entry of the queue takes. */
export interface Weight {
  readonly items: number;
  readonly bytes: number;
}

/** An entry that is not in the queue any more, and whose it was. */
export interface Dequeued<Item> {
  readonly owner: string;
  readonly item: Item;
  readonly weight: Weight;
}

interface Entry<Item> {
  readonly item: Item;
  readonly weight: Weight;
}

/**
 * A bounded queue that several owners share. Where it is full, the owner that has most waiting loses its newest
 * entries first; what is taken out is taken from one owner after the other. The order of one owner's entries is kept.
 */
export class FairQueue<Item> {
  private readonly items: FairBudget;
  private readonly bytes: FairBudget;
  /** In the order in which it is their turn. */
  private readonly queues = new Map<string, Entry<Item>[]>();

  constructor(capacity: QueueCapacity) {
    this.items = new FairBudget(capacity.items);
    this.bytes = new FairBudget(capacity.bytes);
  }

  /** What waits in all. */
  get total(): Weight {
    return { items: this.items.total, bytes: this.bytes.total };
  }

  get isEmpty(): boolean {
    return this.queues.size === 0;
  }

  /** Adds an entry. Gives what had to go for it: entries of others, or this one. */
  push(owner: string, item: Item, weight: Weight): readonly Dequeued<Item>[] {
    const dropped: Dequeued<Item>[] = [];
    for (;;) {
      const yielding =
        this.items.whoYields(owner, weight.items) ?? this.bytes.whoYields(owner, weight.bytes);
      if (yielding === undefined) break;
      if (yielding === owner) return [...dropped, { owner, item, weight }];
      dropped.push(this.dropNewest(yielding));
    }
    const queue = this.queues.get(owner);
    if (queue === undefined) this.queues.set(owner, [{ item, weight }]);
    else queue.push({ item, weight });
    this.items.add(owner, weight.items);
    this.bytes.add(owner, weight.bytes);
    return dropped;
  }

  /** Takes out up to so many entries, one of each owner in turn, and no more once they have so many bytes together. */
  take(
    entriesMax = Number.POSITIVE_INFINITY,
    bytesMax = Number.POSITIVE_INFINITY,
  ): readonly Dequeued<Item>[] {
    const taken: Dequeued<Item>[] = [];
    const bytesLeftMin = this.bytes.total - bytesMax;
    const isEnough = () => taken.length >= entriesMax || this.bytes.total <= bytesLeftMin;
    // Taking the first entry of an array costs as much as the array is long: places are kept instead.
    const places = new Map<string, number>();
    while (!isEnough() && this.queues.size > 0) {
      for (const [owner, queue] of this.queues) {
        if (isEnough()) break;
        const place = places.get(owner) ?? 0;
        const entry = queue[place];
        // To the end of the line.
        this.queues.delete(owner);
        if (entry === undefined) continue;
        places.set(owner, place + 1);
        if (place + 1 < queue.length) this.queues.set(owner, queue);
        this.release(owner, entry.weight);
        taken.push({ owner, ...entry });
      }
    }
    for (const [owner, place] of places) this.queues.get(owner)?.splice(0, place);
    return taken;
  }

  private dropNewest(owner: string): Dequeued<Item> {
    const queue = this.queues.get(owner);
    const entry = queue?.pop();
    if (queue === undefined || entry === undefined)
      throw new Error('An owner holds what is not there');
    if (queue.length === 0) this.queues.delete(owner);
    this.release(owner, entry.weight);
    return { owner, ...entry };
  }

  private release(owner: string, { items, bytes }: Weight): void {
    this.items.release(owner, items);
    this.bytes.release(owner, bytes);
  }
}
