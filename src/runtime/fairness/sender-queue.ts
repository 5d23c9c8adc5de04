/** Who a request is sent for. */
export interface Sender {
  /** Owners take turns. */
  readonly owner: object;
  /** `false`: the request may never be answered, so it gets only a share of the capacity. */
  readonly isTrusted: boolean;
}

/** Share of a capacity that untrusted requests may take: alone, and while trusted ones wait. */
const UNTRUSTED_SHARE = 0.75;
const UNTRUSTED_SHARE_BESIDE_OTHERS = 0.25;

/** How much of a capacity untrusted requests may take. Some always stays free, however many of them hang. */
export function untrustedLimit(capacity: number, doTrustedWait: boolean): number {
  const share = doTrustedWait ? UNTRUSTED_SHARE_BESIDE_OTHERS : UNTRUSTED_SHARE;
  return Math.max(1, Math.floor(capacity * share));
}

/**
 * A fair queue of the requests of several senders. Owners take turns, so that one with many requests does not
 * delay the others, and untrusted requests take turns with trusted ones.
 */
export class SenderQueue<Item> {
  private readonly trusted = new RoundRobin<Item>();
  private readonly untrusted = new RoundRobin<Item>();
  private isTurnOfUntrusted = false;

  get size(): number {
    return this.trusted.size + this.untrusted.size;
  }

  get hasTrusted(): boolean {
    return this.trusted.size > 0;
  }

  add(item: Item, { owner, isTrusted }: Sender): void {
    (isTrusted ? this.trusted : this.untrusted).add(item, owner);
  }

  /** Takes the next item; an untrusted one only if `mayBeUntrusted`. */
  take(mayBeUntrusted = true): Item | undefined {
    this.isTurnOfUntrusted = !this.isTurnOfUntrusted;
    if (this.isTurnOfUntrusted && mayBeUntrusted)
      return this.untrusted.take() ?? this.trusted.take();
    return this.trusted.take() ?? (mayBeUntrusted ? this.untrusted.take() : undefined);
  }

  /** Takes all items that match, in any order. */
  takeMatching(matches: (item: Item) => boolean): readonly Item[] {
    return [...this.trusted.takeMatching(matches), ...this.untrusted.takeMatching(matches)];
  }
}

interface Queue<Item> {
  readonly owner: object;
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

  add(item: Item, owner: object): void {
    this.size++;
    const known = this.byOwner.get(owner);
    if (known !== undefined) {
      known.items.push(item);
      return;
    }
    const queue = { owner, items: [item], next: 0 };
    this.queues.push(queue);
    this.byOwner.set(owner, queue);
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
      this.byOwner.delete(queue.owner);
      return item;
    }
    this.turn++;
    // Drops taken items once they are half of the array, so each item is moved once on average.
    if (queue.next * 2 > queue.items.length) {
      queue.items = queue.items.slice(queue.next);
      queue.next = 0;
    }
    return item;
  }

  takeMatching(matches: (item: Item) => boolean): readonly Item[] {
    const taken: Item[] = [];
    for (const queue of this.queues) {
      const left: Item[] = [];
      for (const item of queue.items.slice(queue.next)) (matches(item) ? taken : left).push(item);
      queue.items = left;
      queue.next = 0;
      if (left.length === 0) this.byOwner.delete(queue.owner);
    }
    this.queues = this.queues.filter(({ items }) => items.length > 0);
    this.size -= taken.length;
    return taken;
  }
}
