/** What is begun in one turn of the loop: a few milliseconds' worth, and less while backends are asking. */
const COST_PER_TURN = 128;
const COST_PER_TURN_BESIDE_BACKENDS = 8;

/** How long after a request of a backend others are likely to follow. */
const BACKEND_MS = 100;

/** Cost of requests that wait for the store; a database in another process may take long. */
const COST_UNDER_WAY_MAX = 256;

/** A request that waits for its turn. */
export interface WaitingRequest {
  readonly owner: string;
  /** About a tenth of a millisecond each. */
  readonly cost: number;
  /** Settles when its answer is known. */
  readonly start: () => Promise<void> | undefined;
}

/**
 * Begins the work of requests without a secret key a little at a time, in turn by their addresses. So a flood of
 * them fills neither a turn of the loop nor a commit of the store, and backends wait for no more than a little.
 */
export class AnonymousTurns {
  private readonly now: () => number;
  /** By owner, whose turn is next first. */
  private readonly waiting = new Map<string, WaitingRequest[]>();
  private spent = 0;
  private underWay = 0;
  private isScheduled = false;
  private backendMs = Number.NEGATIVE_INFINITY;

  /** `now`: milliseconds of a clock that is never set. */
  constructor(now: () => number) {
    this.now = now;
  }

  /** A backend has asked. */
  heardBackend(): void {
    this.backendMs = this.now();
  }

  /** Starts it now or in a later turn, unless it is taken away before. */
  add(request: WaitingRequest): void {
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
  remove(request: WaitingRequest): void {
    const { owner } = request;
    const ofOwner = this.waiting.get(owner) ?? [];
    const at = ofOwner.lastIndexOf(request);
    if (at >= 0) ofOwner.splice(at, 1);
    if (ofOwner.length === 0) this.waiting.delete(owner);
  }

  /** Something is always begun: one request may cost more than a turn. */
  private mayStart({ cost }: WaitingRequest): boolean {
    if (this.underWay >= COST_UNDER_WAY_MAX) return false;
    const isBeside = this.now() - this.backendMs < BACKEND_MS;
    const most = isBeside ? COST_PER_TURN_BESIDE_BACKENDS : COST_PER_TURN;
    return this.spent === 0 || this.spent + cost <= most;
  }

  private start(request: WaitingRequest): void {
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
