/**
 * Splits a fixed capacity among owners: apps, instances, client addresses.
 *
 * One owner alone may use all of it. Once it is full, whoever holds most loses first: an owner that wants more and
 * would still hold less than the largest one gets it at the cost of that one. So nobody can keep others out, and
 * nothing lies idle. What is counted may be of any unit. Costs do not grow with the number of owners, except
 * that the largest is searched for again after it has given something up and is no longer the largest.
 */
export class FairBudget<Owner = string> {
  readonly capacity: number;
  private readonly held = new Map<Owner, number>();
  private sum = 0;
  private largest: Owner | undefined;
  /** No other owner holds more than this. */
  private othersMost = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** What all owners hold. */
  get total(): number {
    return this.sum;
  }

  /** What one owner holds. */
  of(owner: Owner): number {
    return this.held.get(owner) ?? 0;
  }

  /**
   * Who must give something up before the owner may take `amount` more: `undefined` where there is room, and the owner
   * itself where the largest would then hold less than it. Callers drop something of the one that this names,
   * release it, and ask again.
   */
  whoYields(owner: Owner, amount = 1): Owner | undefined {
    const missing = this.sum + amount - this.capacity;
    if (missing <= 0) return undefined;
    const largest = this.largestOwner();
    if (largest === undefined || largest === owner) return owner;
    return this.of(largest) - missing < this.of(owner) + amount ? owner : largest;
  }

  /** Takes `amount` for the owner where there is room; otherwise changes nothing and gives `false`. */
  take(owner: Owner, amount = 1): boolean {
    if (this.sum + amount > this.capacity) return false;
    this.add(owner, amount);
    return true;
  }

  /** Counts what the owner now holds, whether there was room or not. */
  add(owner: Owner, amount = 1): void {
    if (amount === 0) return;
    const now = this.of(owner) + amount;
    this.held.set(owner, now);
    this.sum += amount;
    if (owner !== this.largest) this.othersMost = Math.max(this.othersMost, now);
  }

  /** Gives back part of what the owner holds. */
  release(owner: Owner, amount = 1): void {
    if (amount === 0) return;
    const left = this.of(owner) - amount;
    if (left < 0) throw new Error('An owner cannot give back more than it holds');
    if (left === 0) this.held.delete(owner);
    else this.held.set(owner, left);
    this.sum -= amount;
  }

  /** Who holds most; `undefined` where nobody holds anything. */
  largestOwner(): Owner | undefined {
    if (this.largest !== undefined && this.of(this.largest) >= this.othersMost) return this.largest;
    let most = 0;
    this.largest = undefined;
    this.othersMost = 0;
    for (const [owner, amount] of this.held) {
      if (amount > most) {
        this.othersMost = most;
        most = amount;
        this.largest = owner;
      } else {
        this.othersMost = Math.max(this.othersMost, amount);
      }
    }
    return this.largest;
  }
}
