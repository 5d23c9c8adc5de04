/** Cost of requests that wait for the store; a database in another process may take long. */
const COST_UNDER_WAY_MAX = 512;

/** A request that waits for its turn. */
export interface WaitingRequest<Owner> {
  readonly owner: Owner;
  /** About a tenth of a millisecond each. */
  readonly cost: number;
  /** Settles when its answer is known. */
  readonly start: () => Promise<void> | undefined;
}

/**
 * Begins the work of requests a little at a time, in turn by their owners. So a flood of one owner fills neither a
 * turn of the loop nor a commit of the store, and others wait for no more than a little.
 */
export class RequestScheduler<Owner extends string | number> {
  private readonly costPerTurn: (waitingOwners: number) => number;
  /** By owner, whose turn is next first. */
  private readonly waiting = new Map<Owner, WaitingRequest<Owner>[]>();
  private spent = 0;
  private underWay = 0;
  private isScheduled = false;

  /** `costPerTurn`: what is begun in one turn of the loop, by the number of owners that wait. */
  constructor(costPerTurn: (waitingOwners: number) => number) {
    this.costPerTurn = costPerTurn;
  }

  /** Starts it now or in a later turn, unless it is taken away before. */
  add(request: WaitingRequest<Owner>): void {
    if (this.waiting.size === 0 && this.mayStart(request)) {
      this.start(request);
      return;
    }
    const ofOwner = this.waiting.get(request.owner);
    if (ofOwner === undefined) this.waiting.set(request.owner, [request]);
    else ofOwner.push(request);
    this.schedule();
  }

  /** Takes a request away that waits. */
  remove(request: WaitingRequest<Owner>): void {
    const { owner } = request;
    const ofOwner = this.waiting.get(owner) ?? [];
    const at = ofOwner.lastIndexOf(request);
    if (at >= 0) ofOwner.splice(at, 1);
    if (ofOwner.length === 0) this.waiting.delete(owner);
  }

  /** Something is always begun: one request may cost more than a turn. */
  private mayStart({ cost }: WaitingRequest<Owner>): boolean {
    if (this.underWay >= COST_UNDER_WAY_MAX) return false;
    return this.spent === 0 || this.spent + cost <= this.costPerTurn(this.waiting.size);
  }

  private start(request: WaitingRequest<Owner>): void {
    const { cost } = request;
    this.spent += cost;
    this.schedule();
    const answered = request.start();
    if (answered === undefined) return;
    this.underWay += cost;
    void answered.finally(() => {
      this.underWay -= cost;
      if (this.waiting.size > 0) this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.spent = 0;
      this.startSome();
    });
  }

  private startSome(): void {
    for (const [owner, ofOwner] of this.waiting) {
      const [next] = ofOwner;
      if (next === undefined || !this.mayStart(next)) return;
      ofOwner.shift();
      // The others of this owner come after those of all others.
      this.waiting.delete(owner);
      if (ofOwner.length > 0) this.waiting.set(owner, ofOwner);
      this.start(next);
    }
  }
}
