import type { SharedTotal } from '../shared-memory/shared-total.ts';
import { FairBudget } from './fair-budget.ts';

/** Limits of all that waits: items, and the bytes (or characters) that they keep in memory. */
export interface QueueCapacity {
  readonly items: number;
  readonly bytes: number;
}

/** How much of the capacity one entry of the queue takes. */
export interface Weight {
  readonly items: number;
  readonly bytes: number;
}

/** An entry that was taken out of the queue, and its owner. */
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
 * A bounded queue that several owners share. When it is full, the owner with the most in it loses its newest entries.
 * Owners take turns, and the entries of one owner come in order.
 */
export class FairQueue<Item> {
  private readonly items: FairBudget;
  private readonly bytes: FairBudget;
  /** By owner; the next one first. */
  private readonly queues = new Map<string, Entry<Item>[]>();

  /** `shared`: for a capacity that queues of other loops share. */
  constructor(capacity: QueueCapacity, shared?: Readonly<Record<keyof Weight, SharedTotal>>) {
    this.items = new FairBudget(capacity.items, shared?.items);
    this.bytes = new FairBudget(capacity.bytes, shared?.bytes);
  }

  /** The total of all waiting items, and of their bytes. */
  get total(): Weight {
    return { items: this.items.total, bytes: this.bytes.total };
  }

  get isEmpty(): boolean {
    return this.queues.size === 0;
  }

  /** Adds an entry. Returns what was dropped for it: entries of others, or this one. */
  push(owner: string, item: Item, weight: Weight): readonly Dequeued<Item>[] {
    const dropped: Dequeued<Item>[] = [];
    for (;;) {
      const yielding =
        this.items.ownerToEvict(owner, weight.items) ??
        this.bytes.ownerToEvict(owner, weight.bytes);
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

  /** Takes out entries, one of each owner in turn, until either limit is reached. */
  take(
    entriesMax = Number.POSITIVE_INFINITY,
    bytesMax = Number.POSITIVE_INFINITY,
  ): readonly Dequeued<Item>[] {
    const taken: Dequeued<Item>[] = [];
    const bytesLeftMin = this.bytes.total - bytesMax;
    const isEnough = () => taken.length >= entriesMax || this.bytes.total <= bytesLeftMin;
    // Removing the first entry would move all others, so positions are counted and the arrays cut once at the end.
    const positions = new Map<string, number>();
    while (!isEnough() && this.queues.size > 0) {
      for (const [owner, queue] of this.queues) {
        if (isEnough()) break;
        const position = positions.get(owner) ?? 0;
        const entry = queue[position];
        // Reinserted below: the owner goes to the end.
        this.queues.delete(owner);
        if (entry === undefined) continue;
        positions.set(owner, position + 1);
        if (position + 1 < queue.length) this.queues.set(owner, queue);
        this.release(owner, entry.weight);
        taken.push({ owner, ...entry });
      }
    }
    for (const [owner, count] of positions) this.queues.get(owner)?.splice(0, count);
    return taken;
  }

  private dropNewest(owner: string): Dequeued<Item> {
    const queue = this.queues.get(owner);
    const entry = queue?.pop();
    if (queue === undefined || entry === undefined) throw new Error('no entry to drop');
    if (queue.length === 0) this.queues.delete(owner);
    this.release(owner, entry.weight);
    return { owner, ...entry };
  }

  private release(owner: string, { items, bytes }: Weight): void {
    this.items.release(owner, items);
    this.bytes.release(owner, bytes);
  }
}
