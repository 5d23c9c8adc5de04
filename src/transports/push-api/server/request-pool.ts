import { FairBudget } from '../../../runtime/fairness/fair-budget.ts';

/** A request that has a place in a pool. */
export interface PooledRequest {
  /** Called when the request must leave the pool in favour of an owner that has less. */
  evict(): void;
}

/** What all requests of a pool hold together. */
export interface PoolLoad {
  readonly requests: number;
  readonly bytes: number;
}

/**
 * Requests in progress and their memory, shared fairly among owners: when the pool is full, the largest owner loses
 * its newest request.
 */
export class RequestPool<Owner extends string | number> {
  private readonly requests: FairBudget<Owner>;
  private readonly bytes: FairBudget<Owner>;
  /** By owner, the oldest first. */
  private readonly places = new Map<Owner, PoolPlace<Owner>[]>();

  constructor(requests: number, bytes: number) {
    this.requests = new FairBudget(requests);
    this.bytes = new FairBudget(bytes);
  }

  load(): PoolLoad {
    return { requests: this.requests.total, bytes: this.bytes.total };
  }

  /** Gives a request a place. Returns `undefined` if the pool is full and no other owner has more. */
  enter(owner: Owner, request: PooledRequest): PoolPlace<Owner> | undefined {
    for (;;) {
      const yielding = this.requests.ownerToEvict(owner);
      if (yielding === undefined) break;
      const newest = yielding === owner ? undefined : this.places.get(yielding)?.at(-1);
      if (newest === undefined) return undefined;
      newest.evict();
    }
    const place = new PoolPlace(this, owner, request);
    this.requests.add(owner);
    const ofOwner = this.places.get(owner);
    if (ofOwner === undefined) this.places.set(owner, [place]);
    else ofOwner.push(place);
    return place;
  }

  /** Called by places only. */
  reserve(place: PoolPlace<Owner>, bytes: number): boolean {
    const { owner } = place;
    for (;;) {
      const yielding = this.bytes.ownerToEvict(owner, bytes);
      if (yielding === undefined) break;
      const ofOwner = this.places.get(yielding);
      const newest = ofOwner?.findLast((one) => one.reservedBytes > 0 || one === place);
      if (newest === undefined || newest === place) return false;
      newest.evict();
    }
    this.bytes.add(owner, bytes);
    return true;
  }

  /** Called by places only. */
  release({ owner }: PoolPlace<Owner>, bytes: number): void {
    this.bytes.release(owner, bytes);
  }

  /** Called by places only. */
  leave(place: PoolPlace<Owner>): void {
    const { owner } = place;
    this.requests.release(owner);
    const ofOwner = this.places.get(owner) ?? [];
    ofOwner.splice(ofOwner.indexOf(place), 1);
    if (ofOwner.length === 0) this.places.delete(owner);
  }
}

/** The place of one request in a pool. */
export class PoolPlace<Owner extends string | number> {
  readonly owner: Owner;
  reservedBytes = 0;
  private readonly pool: RequestPool<Owner>;
  private readonly request: PooledRequest;
  private hasLeft = false;

  constructor(pool: RequestPool<Owner>, owner: Owner, request: PooledRequest) {
    this.pool = pool;
    this.owner = owner;
    this.request = request;
  }

  evict(): void {
    this.request.evict();
    this.leave();
  }

  /** Reserves memory. Returns `false` if there is none and this request itself must be dropped. */
  reserve(bytes: number): boolean {
    if (this.hasLeft || !this.pool.reserve(this, bytes)) return false;
    this.reservedBytes += bytes;
    return true;
  }

  /** Frees all reserved memory. */
  release(): void {
    this.pool.release(this, this.reservedBytes);
    this.reservedBytes = 0;
  }

  leave(): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    this.release();
    this.pool.leave(this);
  }
}
