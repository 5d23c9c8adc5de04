import { FairBudget } from '../../runtime/fairness/fair-budget.ts';

/** Who a change is for: an instance, by number, the admin API, or apps that revoke grants. `undefined`: the server itself. */
export type WriteOwner = number | 'admin' | 'revocations' | undefined;

interface Owned {
  readonly owner: WriteOwner;
}

/** Changes for one commit, in the order in which they run. */
export interface ChangeGroup<Change> {
  readonly changes: readonly Change[];
  /** How many changes must run, however long that takes, so that each owner gets a turn. */
  readonly mustRun: number;
}

/**
 * A fair queue of changes. The changes of one owner keep their order.
 *
 * Instances and the admin API share a limit: beyond it, the largest owner loses its newest changes. The server's own
 * changes have the same limit for themselves, and get every second place in a group.
 */
export class WaitingChanges<Change extends Owned> {
  private readonly max: number;
  private readonly budget: FairBudget<WriteOwner>;
  private own: Change[] = [];
  /** In the order of their turns. No queue is empty. */
  private readonly byOwner = new Map<WriteOwner, Change[]>();

  constructor(max: number) {
    this.max = max;
    this.budget = new FairBudget(max);
  }

  get size(): number {
    return this.own.length + this.budget.total;
  }

  /** Adds a change. Returns the change that was dropped for lack of room: this one, or one of the largest owner. */
  add(change: Change): Change | undefined {
    const { owner } = change;
    if (owner === undefined) {
      if (this.own.length >= this.max) return change;
      this.own.push(change);
      return undefined;
    }
    const loser = this.budget.ownerToEvict(owner);
    if (loser === owner) return change;
    const refused = loser === undefined ? undefined : this.removeNewest(loser);
    this.queueOf(owner).push(change);
    this.budget.add(owner);
    return refused;
  }

  /** Takes up to `limit` changes, alternating between the server's own and those of the other owners in turn. */
  take(limit: number): ChangeGroup<Change> {
    const own = this.own.splice(0, Math.max(limit >> 1, limit - this.budget.total));
    const shares = this.takeShares(limit - own.length);
    const others = interleaved(shares);
    const changes = interleaved([own, others]);
    return { changes, mustRun: Math.max(1, shares.length + Math.min(own.length, shares.length)) };
  }

  /** Puts back changes that have not run, before those that have come since. */
  putBack(changes: readonly Change[]): void {
    for (const [owner, some] of Map.groupBy(changes, (change) => change.owner)) {
      if (owner === undefined) {
        this.own = [...some, ...this.own];
      } else {
        this.queueOf(owner).unshift(...some);
        this.budget.add(owner, some.length);
      }
    }
  }

  /** Takes the first changes of each owner, as evenly as possible. These owners come last in the next group. */
  private takeShares(room: number): readonly (readonly Change[])[] {
    const shares: Change[][] = [];
    for (const [owner, count] of this.sharesOf(room)) {
      const waiting = this.queueOf(owner);
      this.byOwner.delete(owner);
      if (waiting.length > count) this.byOwner.set(owner, waiting);
      shares.push(waiting.length > count ? waiting.splice(0, count) : waiting);
      this.budget.release(owner, count);
    }
    return shares;
  }

  private sharesOf(room: number): ReadonlyMap<WriteOwner, number> {
    const shares = new Map<WriteOwner, number>();
    let left = Math.min(room, this.budget.total);
    while (left > 0) {
      for (const [owner, { length }] of this.byOwner) {
        const share = shares.get(owner) ?? 0;
        if (left === 0) break;
        if (share === length) continue;
        shares.set(owner, share + 1);
        left -= 1;
      }
    }
    return shares;
  }

  private removeNewest(owner: WriteOwner): Change | undefined {
    const waiting = this.queueOf(owner);
    const newest = waiting.pop();
    this.budget.release(owner);
    if (waiting.length === 0) this.byOwner.delete(owner);
    return newest;
  }

  private queueOf(owner: WriteOwner): Change[] {
    let queue = this.byOwner.get(owner);
    if (queue === undefined) {
      queue = [];
      this.byOwner.set(owner, queue);
    }
    return queue;
  }
}

/** The first of each list, then the second of each, and so on. */
function interleaved<Item>(lists: readonly (readonly Item[])[]): readonly Item[] {
  const [only] = lists;
  if (only !== undefined && lists.length === 1) return only;
  const items: Item[] = [];
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  for (let turn = 0; turn < longest; turn++) {
    for (const list of lists) {
      const item = list[turn];
      if (item !== undefined) items.push(item);
    }
  }
  return items;
}
