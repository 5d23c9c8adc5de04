/** Who holds a place. */
export interface PlaceHolder {
  readonly owner: string;
  /** Whether it may take the last place. */
  readonly isAdmin: boolean;
  /** Called when another owner gets the place. */
  readonly displaced: () => void;
}

/**
 * A few places that many owners share. Once all are taken, the owner with the most loses its oldest one to an owner that
 * would still have fewer. The last place is kept for admins.
 */
export class Places {
  private readonly count: number;
  /** The oldest first. */
  private readonly holders = new Set<PlaceHolder>();

  constructor(count: number) {
    this.count = count;
  }

  get taken(): number {
    return this.holders.size;
  }

  /** Whether there is a place, or one that another owner would lose. */
  canTake(holder: PlaceHolder): boolean {
    return this.hasRoom(holder) || this.loserFor(holder) !== undefined;
  }

  /** Takes a place. `false`: there is none for this owner. */
  take(holder: PlaceHolder): boolean {
    if (!this.hasRoom(holder)) {
      const loser = this.loserFor(holder);
      if (loser === undefined) return false;
      this.holders.delete(loser);
      loser.displaced();
    }
    this.holders.add(holder);
    return true;
  }

  release(holder: PlaceHolder): void {
    this.holders.delete(holder);
  }

  private hasRoom({ isAdmin }: PlaceHolder): boolean {
    return this.holders.size < this.count && (isAdmin || !this.areOthersFull());
  }

  /** Whether those who are no admins have all places that they may have. */
  private areOthersFull(): boolean {
    const others = [...this.holders].filter(({ isAdmin }) => !isAdmin);
    return others.length >= this.count - 1;
  }

  private loserFor({ owner, isAdmin }: PlaceHolder): PlaceHolder | undefined {
    // The place of an admin is of no use to others while they have all of theirs.
    const isAmongOthers = !isAdmin && this.areOthersFull();
    const candidates = [...this.holders].filter((one) => !(isAmongOthers && one.isAdmin));
    const byOwner = Map.groupBy(candidates, (one) => one.owner);
    const own = byOwner.get(owner)?.length ?? 0;
    const [most = []] = [...byOwner.values()].toSorted((a, b) => b.length - a.length);
    return most.length > own + 1 ? most[0] : undefined;
  }
}
