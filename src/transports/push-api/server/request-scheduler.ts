/** The limit of cost that waits for the store: a database in another process may be slow. */
const IN_PROGRESS_COST_MAX = 512;

/** A request that is to be started. */
export interface ScheduledRequest<Owner> {
  readonly owner: Owner;
  /** In units of about 0.1 ms. */
  readonly cost: number;
  /** Returns a promise if the request is still in progress; it settles when the answer is known. */
  readonly start: () => Promise<void> | undefined;
}

/**
 * Starts requests, a bounded cost per turn of the event loop, one owner after the other. A flood from one owner
 * therefore fills neither a turn nor a commit of the store, and delays others only briefly.
 */
export class RequestScheduler<Owner extends string | number> {
  private readonly costPerTurn: (waitingOwners: number) => number;
  /** By owner; the owner to be served next comes first. */
  private readonly waiting = new Map<Owner, ScheduledRequest<Owner>[]>();
  private spent = 0;
  private inProgress = 0;
  private hasNextTurn = false;

  /** `costPerTurn` gives the cost to start per turn of the event loop, by the number of owners that wait. */
  constructor(costPerTurn: (waitingOwners: number) => number) {
    this.costPerTurn = costPerTurn;
  }

  /** Starts a request now or in a later turn, unless it is removed before. */
  add(request: ScheduledRequest<Owner>): void {
    if (this.waiting.size === 0 && this.mayStart(request)) {
      this.start(request);
      return;
    }
    const ofOwner = this.waiting.get(request.owner);
    if (ofOwner === undefined) this.waiting.set(request.owner, [request]);
    else ofOwner.push(request);
    this.planNextTurn();
  }

  /** Removes a request that has not started. */
  remove(request: ScheduledRequest<Owner>): void {
    const { owner } = request;
    const ofOwner = this.waiting.get(owner) ?? [];
    const at = ofOwner.lastIndexOf(request);
    if (at >= 0) ofOwner.splice(at, 1);
    if (ofOwner.length === 0) this.waiting.delete(owner);
  }

  /** The first request of a turn may always start, as it may cost more than a turn. */
  private mayStart({ cost }: ScheduledRequest<Owner>): boolean {
    if (this.inProgress >= IN_PROGRESS_COST_MAX) return false;
    return this.spent === 0 || this.spent + cost <= this.costPerTurn(this.waiting.size);
  }

  private start(request: ScheduledRequest<Owner>): void {
    const { cost } = request;
    this.spent += cost;
    this.planNextTurn();
    const answered = request.start();
    if (answered === undefined) return;
    this.inProgress += cost;
    void answered.finally(() => {
      this.inProgress -= cost;
      if (this.waiting.size > 0) this.planNextTurn();
    });
  }

  private planNextTurn(): void {
    if (this.hasNextTurn) return;
    this.hasNextTurn = true;
    setImmediate(() => {
      this.hasNextTurn = false;
      this.spent = 0;
      this.startWaiting();
    });
  }

  private startWaiting(): void {
    for (const [owner, ofOwner] of this.waiting) {
      const [next] = ofOwner;
      if (next === undefined || !this.mayStart(next)) return;
      ofOwner.shift();
      // The owner moves to the end of the queue.
      this.waiting.delete(owner);
      if (ofOwner.length > 0) this.waiting.set(owner, ofOwner);
      this.start(next);
    }
  }
}
