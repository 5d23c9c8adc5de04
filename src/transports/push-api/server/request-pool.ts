import { FairBudget } from '../../../runtime/fair-budget.ts';

/** A request that has a place in a pool. */
export interface PooledRequest {
  /** Must leave the pool: somebody who has less needs the room. */
  giveWay(): void;
}

/** The place of one request in a pool. */
export interface Place {
  /** Counts bytes that stay in memory. `false`: this request itself must go. */
  hold(bytes: number): boolean;
  /** The bytes that were held are not any more. */
  release(): void;
  leave(): void;
}

/** What all requests of a pool hold. */
export interface PoolLoad {
  readonly requests: number;
  readonly bytes: number;
}

/**
 * Requests under way and the bytes that they hold, shared fairly between their owners: where there is no more room,
 * the owner that has most loses its newest request.
 */
export class RequestPool<Owner extends string | number> {
  private readonly requests: FairBudget<Owner>;
  private readonly bytes: FairBudget<Owner>;
  /** In the order in which they came. */
  private readonly places = new Map<Owner, PooledPlace<Owner>[]>();

  constructor(requests: number, bytes: number) {
    this.requests = new FairBudget(requests);
    this.bytes = new FairBudget(bytes);
  }

  load(): PoolLoad {
    return { requests: this.requests.total, bytes: this.bytes.total };
  }

  /** Gives a request a place; `undefined` where its owner has as many as anybody. */
  enter(owner: Owner, request: PooledRequest): Place | undefined {
    for (;;) {
      const yields = this.requests.whoYields(owner);
      if (yields === undefined) break;
      const newest = yields === owner ? undefined : this.places.get(yields)?.at(-1);
      if (newest === undefined) return undefined;
      newest.giveWay();
    }
    const place = new PooledPlace(this, owner, request);
    this.requests.add(owner);
    const ofOwner = this.places.get(owner);
    if (ofOwner === undefined) this.places.set(owner, [place]);
    else ofOwner.push(place);
    return place;
  }

  /** Called by places only. */
  hold(place: PooledPlace<Owner>, bytes: number): boolean {
    const { owner } = place;
    for (;;) {
      const yields = this.bytes.whoYields(owner, bytes);
      if (yields === undefined) break;
      const ofOwner = this.places.get(yields);
      const newest = ofOwner?.findLast((one) => one.heldBytes > 0 || one === place);
      if (newest === undefined || newest === place) return false;
      newest.giveWay();
    }
    this.bytes.add(owner, bytes);
    return true;
  }

  /** Called by places only. */
  release({ owner }: PooledPlace<Owner>, bytes: number): void {
    this.bytes.release(owner, bytes);
  }

  /** Called by places only. */
  leave(place: PooledPlace<Owner>): void {
    const { owner } = place;
    this.requests.release(owner);
    const ofOwner = this.places.get(owner) ?? [];
    ofOwner.splice(ofOwner.indexOf(place), 1);
    if (ofOwner.length === 0) this.places.delete(owner);
  }
}

class PooledPlace<Owner extends string | number> implements Place {
  readonly owner: Owner;
  heldBytes = 0;
  private readonly pool: RequestPool<Owner>;
  private readonly request: PooledRequest;
  private hasLeft = false;

  constructor(pool: RequestPool<Owner>, owner: Owner, request: PooledRequest) {
    this.pool = pool;
    this.owner = owner;
    this.request = request;
  }

  giveWay(): void {
    this.request.giveWay();
    this.leave();
  }

  hold(bytes: number): boolean {
    if (this.hasLeft || !this.pool.hold(this, bytes)) return false;
    this.heldBytes += bytes;
    return true;
  }

  release(): void {
    this.pool.release(this, this.heldBytes);
    this.heldBytes = 0;
  }

  leave(): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    this.release();
    this.pool.leave(this);
  }
}
