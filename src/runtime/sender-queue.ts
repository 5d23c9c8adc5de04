/** Whom a request belongs to. */
export interface Sender {
  /** Stands for an instance. Instances take turns. */
  readonly of: object;
  /** No gateway has accepted a notification for the device yet. */
  readonly isNewcomer: boolean;
}

/**
 * A fair queue for a gateway that several instances use. Instances take turns, so that one with many requests does not
 * delay others, and newcomers take turns with all other devices.
 */
export class SenderQueue<Item> {
  private readonly known = new RoundRobin<Item>();
  private readonly newcomers = new RoundRobin<Item>();
  private isNewcomersTurn = false;

  get size(): number {
    return this.known.size + this.newcomers.size;
  }

  /** Whether requests for devices wait that were accepted before. */
  get doKnownWait(): boolean {
    return this.known.size > 0;
  }

  add(item: Item, { of, isNewcomer }: Sender): void {
    (isNewcomer ? this.newcomers : this.known).add(item, of);
  }

  /** Takes the next item; one of a newcomer only if `mayBeNewcomer`. */
  take(mayBeNewcomer = true): Item | undefined {
    this.isNewcomersTurn = !this.isNewcomersTurn;
    if (this.isNewcomersTurn && mayBeNewcomer) return this.newcomers.take() ?? this.known.take();
    return this.known.take() ?? (mayBeNewcomer ? this.newcomers.take() : undefined);
  }

  /** Takes all items for which `isSo` holds, in any order. */
  takeAll(isSo: (item: Item) => boolean): readonly Item[] {
    return [...this.known.takeAll(isSo), ...this.newcomers.takeAll(isSo)];
  }
}

interface Queue<Item> {
  readonly of: object;
  items: Item[];
  /** Index of the next item. */
  next: number;
}

/** One queue for each owner; owners take turns. */
class RoundRobin<Item> {
  size = 0;
  private queues: Queue<Item>[] = [];
  private readonly byOwner = new Map<object, Queue<Item>>();
  private turn = 0;

  add(item: Item, of: object): void {
    this.size++;
    const known = this.byOwner.get(of);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    const queue = { of, items: [item], next: 0 };
    this.queues.push(queue);
    this.byOwner.set(of, queue);
  }

  take(): Item | undefined {
    if (this.turn >= this.queues.length) this.turn = 0;
    const queue = this.queues[this.turn];
    const item = queue?.items[queue.next];
    if (queue === undefined || item === undefined) return undefined;
    this.size--;
    queue.next++;
    if (queue.next === queue.items.length) {
      this.queues.splice(this.turn, 1);
      this.byOwner.delete(queue.of);
      return item;
    }
    this.turn++;
    // Each is moved once at most, on average.
    if (queue.next * 2 > queue.items.length) {
      queue.items = queue.items.slice(queue.next);
      queue.next = 0;
    }
    return item;
  }

  takeAll(isSo: (item: Item) => boolean): readonly Item[] {
    const taken: Item[] = [];
    for (const queue of this.queues) {
      const left: Item[] = [];
      for (const item of queue.items.slice(queue.next)) (isSo(item) ? taken : left).push(item);
      queue.items = left;
      queue.next = 0;
      if (left.length === 0) this.byOwner.delete(queue.of);
    }
    this.queues = this.queues.filter(({ items }) => items.length > 0);
    this.size -= taken.length;
    return taken;
  }
}
