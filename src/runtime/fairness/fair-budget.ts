import type { SharedTotal } from '../shared-memory/shared-total.ts';

/**
 * Splits a fixed capacity among owners: apps, instances, client addresses.
 *
 * One owner alone may use all of it. Once it is full, the largest owner loses first: an owner that would still hold less
 * than the largest takes from it. So no owner can keep others out, and no capacity is wasted. The unit is up to the
 * caller. Operations take constant time, except that the largest owner is searched for again after it has shrunk.
 *
 * Several loops may share the capacity. Each then has what the others leave, and may exceed it by what they take at the
 * same moment.
 */
export class FairBudget<Owner = string> {
  private readonly limit: number;
  private readonly shared: SharedTotal | undefined;
  private readonly held = new Map<Owner, number>();
  private sum = 0;
  private largest: Owner | undefined;
  /** Upper bound of what any other owner holds. */
  private othersMax = 0;

  constructor(limit: number, shared?: SharedTotal) {
    this.limit = limit;
    this.shared = shared;
  }

  /** What all owners may hold together. */
  get capacity(): number {
    return this.shared === undefined ? this.limit : Math.max(0, this.limit - this.shared.others);
  }

  /** What all owners hold together. */
  get total(): number {
    return this.sum;
  }

  /** All owners that hold something, with what they hold. */
  all(): Iterable<readonly [owner: Owner, amount: number]> {
    return this.held;
  }

  /** What one owner holds. */
  of(owner: Owner): number {
    return this.held.get(owner) ?? 0;
  }

  /**
   * The owner that must give something up before `owner` may take `amount` more. `undefined`: there is room. `owner`
   * itself: it may not take more, because the largest would then hold less. Callers drop something of the returned
   * owner, release it, and ask again.
   */
  ownerToEvict(owner: Owner, amount = 1): Owner | undefined {
    const missing = this.sum + amount - this.capacity;
    if (missing <= 0) return undefined;
    const largest = this.largestOwner();
    if (largest === undefined || largest === owner) return owner;
    return this.of(largest) - missing < this.of(owner) + amount ? owner : largest;
  }

  /** Takes `amount` for the owner if there is room; otherwise changes nothing and gives `false`. */
  take(owner: Owner, amount = 1): boolean {
    if (this.sum + amount > this.capacity) return false;
    this.add(owner, amount);
    return true;
  }

  /** Takes `amount` for the owner even if there is no room. */
  add(owner: Owner, amount = 1): void {
    if (amount === 0) return;
    const now = this.of(owner) + amount;
    this.held.set(owner, now);
    this.setSum(this.sum + amount);
    if (owner !== this.largest) this.othersMax = Math.max(this.othersMax, now);
  }

  /** Gives back part of what the owner holds. */
  release(owner: Owner, amount = 1): void {
    if (amount === 0) return;
    const left = this.of(owner) - amount;
    if (left < 0) throw new Error('An owner cannot give back more than it holds');
    if (left === 0) this.held.delete(owner);
    else this.held.set(owner, left);
    this.setSum(this.sum - amount);
  }

  private setSum(sum: number): void {
    this.sum = sum;
    this.shared?.set(sum);
  }

  /** The owner that holds the most; `undefined` if none holds anything. */
  largestOwner(): Owner | undefined {
    if (this.largest !== undefined && this.of(this.largest) >= this.othersMax) return this.largest;
    let largestAmount = 0;
    this.largest = undefined;
    this.othersMax = 0;
    for (const [owner, amount] of this.held) {
      if (amount > largestAmount) {
        this.othersMax = largestAmount;
        largestAmount = amount;
        this.largest = owner;
      } else {
        this.othersMax = Math.max(this.othersMax, amount);
      }
    }
    return this.largest;
  }
}
