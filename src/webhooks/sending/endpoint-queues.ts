import {
  CLAIM_ENDPOINTS,
  CLAIM_ROWS,
  ENDPOINT_BYTES_MAX,
  ENDPOINT_ROWS_MAX,
  inFlightMax,
  WAITING_BYTES_MAX,
  WAITING_ROWS_MAX,
} from '../limits.ts';
import type {
  ClaimedRequest,
  EndpointBacklog,
  EndpointClaim,
  OutboxKind,
  OutboxRequest,
  Settlement,
  WantedRequests,
} from '../outbox.ts';
import { kindOf, ownerOf, shareOf } from './endpoint.ts';

/** Totals of queues that share limits: those of one owner, or of one share (see `shareOf`). */
interface Group {
  readonly name: string;
  queues: number;
  /** Requests in the store, including those in flight. */
  rows: number;
  bytes: number;
  readonly inFlight: Record<OutboxKind, number>;
}

/** The requests for one endpoint. */
interface EndpointQueue {
  readonly endpoint: string;
  readonly kind: OutboxKind;
  readonly share: Group;
  readonly owner: Group;
  /** Requests in the store, including those in flight. */
  rows: number;
  bytes: number;
  /** When the oldest of them was created, as far as known. */
  oldestAtMs: number;
  /** No unclaimed request is due before this. */
  dueAtMs: number;
  /** The earliest due time of requests that became due since the last claim began, which the claim may not have seen. */
  dueSinceClaimMs: number;
  claimed: ClaimedRequest[];
  inFlight: number;
  /** The last attempt failed: one request at a time until one succeeds. */
  failing: boolean;
}

const NOTHING_WAITS = { rows: 0, oldestAtMs: Number.POSITIVE_INFINITY };

/**
 * Decides which request is sent next. Each endpoint has a queue with few requests in flight, and queues take turns, so
 * that a slow endpoint or a long queue delays no other.
 *
 * Each kind has its own limit of requests in flight. Within it, and within the limit of waiting requests, an owner may
 * use no more than it leaves free, however many endpoints it has.
 */
export class EndpointQueues {
  /** In the order of their turns. */
  private readonly queues = new Map<string, EndpointQueue>();
  private readonly shares = new Groups();
  private readonly owners = new Groups();
  private readonly inFlightOf = noneInFlight();
  rows = 0;
  bytes = 0;

  get inFlight(): number {
    const { channels, push, publish } = this.inFlightOf;
    return channels + push + publish;
  }

  /**
   * Counts a new request, or returns the limit that it exceeds: the endpoint's, or its owner's share of the outbox.
   */
  admit(request: OutboxRequest): 'admitted' | 'outbox' | 'endpoint' {
    const { endpoint, bodyBytes } = request;
    const owner = this.owners.get(ownerOf(endpoint));
    const freeRows = WAITING_ROWS_MAX - this.rows;
    const freeBytes = WAITING_BYTES_MAX - this.bytes;
    if (!mayUseMore(owner?.rows ?? 0, freeRows)) return 'outbox';
    if (!mayUseMore(owner?.bytes ?? 0, freeBytes) || bodyBytes > freeBytes) return 'outbox';
    const { rows, bytes } = this.shares.get(shareOf(endpoint)) ?? { rows: 0, bytes: 0 };
    if (rows >= ENDPOINT_ROWS_MAX || bytes + bodyBytes > ENDPOINT_BYTES_MAX) return 'endpoint';
    this.add(request);
    return 'admitted';
  }

  /** Counts a replayed request. No limit applies: an operator asked for it. */
  addReplayed(request: OutboxRequest, nowMs: number): void {
    this.add(request);
    this.dueFrom(request.endpoint, nowMs);
  }

  /** A request for this endpoint becomes due at `atMs`. */
  dueFrom(endpoint: string, atMs: number): void {
    const queue = this.queue(endpoint);
    queue.dueAtMs = Math.min(queue.dueAtMs, atMs);
    queue.dueSinceClaimMs = Math.min(queue.dueSinceClaimMs, atMs);
  }

  /** Applies a settlement that has been written to the store. */
  settled({ request, next }: Settlement): void {
    const { endpoint, kind, bodyBytes } = request;
    if (next.state === 'waiting') this.dueFrom(endpoint, next.atMs);
    else this.count(this.queue(endpoint), -1, -bodyBytes);
    this.removeIfIdle(this.queue(endpoint));
    // The request that waited for this one is due now. Another server may have written it, so it may not be counted here.
    if (next.state !== 'waiting' && kind === 'publish') this.dueFrom(endpoint, next.atMs);
  }

  /** Replaces all counts by those of the store: other servers may have changed it. */
  refresh(backlog: readonly EndpointBacklog[]): void {
    this.rows = 0;
    this.bytes = 0;
    this.shares.clearWaiting();
    this.owners.clearWaiting();
    const found = new Map(backlog.map((entry) => [entry.endpoint, entry]));
    for (const endpoint of found.keys()) this.queue(endpoint);
    for (const queue of this.queues.values()) {
      const entry = found.get(queue.endpoint);
      queue.rows = 0;
      queue.bytes = 0;
      this.count(queue, entry?.rows ?? 0, entry?.bytes ?? 0);
      queue.oldestAtMs = entry?.oldestAtMs ?? Number.POSITIVE_INFINITY;
      this.dueFrom(queue.endpoint, entry?.dueAtMs ?? Number.POSITIVE_INFINITY);
      this.removeIfIdle(queue);
    }
  }

  /** The endpoints to claim requests for now, and how many each. The claim begins after this. */
  wanted(nowMs: number): readonly WantedRequests[] {
    const wanted: WantedRequests[] = [];
    for (const queue of this.queues.values()) {
      if (queue.claimed.length > 0 || queue.dueAtMs > nowMs || !this.maySend(queue)) continue;
      wanted.push({ endpoint: queue.endpoint, limit: queue.failing ? 1 : CLAIM_ROWS });
      queue.dueSinceClaimMs = Number.POSITIVE_INFINITY;
      if (wanted.length === CLAIM_ENDPOINTS) break;
    }
    return wanted;
  }

  /** Adds requests that were claimed. */
  addClaimed({ endpoint, requests, dueAtMs }: EndpointClaim): void {
    const queue = this.queue(endpoint);
    queue.claimed.push(...requests);
    queue.dueAtMs = Math.min(dueAtMs ?? Number.POSITIVE_INFINITY, queue.dueSinceClaimMs);
    this.removeIfIdle(queue);
  }

  /** The next request to send, if one may be sent now; it counts as in flight until `done`. */
  next(): ClaimedRequest | undefined {
    for (const queue of this.queues.values()) {
      if (queue.claimed.length === 0 || !this.maySend(queue)) continue;
      const request = queue.claimed.shift();
      this.countInFlight(queue, 1);
      // Its next turn comes after all others.
      this.queues.delete(queue.endpoint);
      this.queues.set(queue.endpoint, queue);
      return request;
    }
    return undefined;
  }

  /** Removes and returns what is claimed and not in flight. */
  takeClaimed(): readonly ClaimedRequest[] {
    const taken: ClaimedRequest[] = [];
    for (const queue of this.queues.values()) taken.push(...queue.claimed.splice(0));
    return taken;
  }

  /** A request is no longer in flight. */
  done(endpoint: string, failed: boolean): void {
    const queue = this.queue(endpoint);
    this.countInFlight(queue, -1);
    queue.failing = failed;
    this.removeIfIdle(queue);
  }

  /** When to claim again for a queue that may send; infinity if an answer must come first. */
  nextDueAtMs(): number {
    let dueAtMs = Number.POSITIVE_INFINITY;
    for (const queue of this.queues.values()) {
      if (queue.claimed.length === 0 && this.maySend(queue)) {
        dueAtMs = Math.min(dueAtMs, queue.dueAtMs);
      }
    }
    return dueAtMs;
  }

  /** The requests that wait for an endpoint, and since when the oldest of them does. */
  waitingFor(endpoint: string): { readonly rows: number; readonly oldestAtMs: number | undefined } {
    const { rows, oldestAtMs } = this.queues.get(endpoint) ?? NOTHING_WAITS;
    return { rows, oldestAtMs: Number.isFinite(oldestAtMs) ? oldestAtMs : undefined };
  }

  oldestAtMs(): number | undefined {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { rows, oldestAtMs } of this.queues.values()) {
      if (rows > 0) oldest = Math.min(oldest, oldestAtMs);
    }
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  /** Whether another request of the queue may be in flight. */
  private maySend({ kind, share, owner, inFlight, failing }: EndpointQueue): boolean {
    const max = inFlightMax[kind];
    const ofKind = this.inFlightOf[kind];
    if (share.inFlight[kind] >= max.share) return false;
    if (!mayUseMore(owner.inFlight[kind], max.all - ofKind)) return false;
    return inFlight < (failing || ofKind >= max.crowded ? 1 : max.endpoint);
  }

  private countInFlight(queue: EndpointQueue, by: 1 | -1): void {
    queue.inFlight += by;
    for (const inFlight of [queue.share.inFlight, queue.owner.inFlight, this.inFlightOf]) {
      inFlight[queue.kind] += by;
    }
  }

  private add({ endpoint, bodyBytes, createdAtMs }: OutboxRequest): void {
    const queue = this.queue(endpoint);
    this.count(queue, 1, bodyBytes);
    queue.oldestAtMs = Math.min(queue.oldestAtMs, createdAtMs);
  }

  private count(queue: EndpointQueue, rows: number, bytes: number): void {
    for (const total of [queue, queue.share, queue.owner, this]) {
      total.rows += rows;
      total.bytes += bytes;
    }
    if (queue.rows === 0) queue.oldestAtMs = Number.POSITIVE_INFINITY;
  }

  private queue(endpoint: string): EndpointQueue {
    const known = this.queues.get(endpoint);
    if (known !== undefined) return known;
    const queue: EndpointQueue = {
      endpoint,
      kind: kindOf(endpoint),
      share: this.shares.join(shareOf(endpoint)),
      owner: this.owners.join(ownerOf(endpoint)),
      rows: 0,
      bytes: 0,
      oldestAtMs: Number.POSITIVE_INFINITY,
      dueAtMs: Number.POSITIVE_INFINITY,
      dueSinceClaimMs: Number.POSITIVE_INFINITY,
      claimed: [],
      inFlight: 0,
      failing: false,
    };
    this.queues.set(endpoint, queue);
    return queue;
  }

  /** Endpoints come and go with the configuration, so empty queues are forgotten. */
  private removeIfIdle(queue: EndpointQueue): void {
    const isEmpty = queue.rows <= 0 && queue.inFlight === 0 && queue.claimed.length === 0;
    // Counted requests may have been written by other servers, and this server's own may still wait. Only a claim
    // shows.
    if (!isEmpty || queue.dueAtMs < Number.POSITIVE_INFINITY) return;
    this.queues.delete(queue.endpoint);
    this.shares.leave(queue.share);
    this.owners.leave(queue.owner);
  }
}

/** Groups by name, each for as long as a queue belongs to it. */
class Groups {
  private readonly byName = new Map<string, Group>();

  get(name: string): Group | undefined {
    return this.byName.get(name);
  }

  join(name: string): Group {
    const group = this.byName.get(name) ?? {
      name,
      queues: 0,
      rows: 0,
      bytes: 0,
      inFlight: noneInFlight(),
    };
    this.byName.set(name, group);
    group.queues++;
    return group;
  }

  leave(group: Group): void {
    group.queues--;
    if (group.queues === 0) this.byName.delete(group.name);
  }

  clearWaiting(): void {
    for (const group of this.byName.values()) {
      group.rows = 0;
      group.bytes = 0;
    }
  }
}

function noneInFlight(): Record<OutboxKind, number> {
  return { channels: 0, push: 0, publish: 0 };
}

/**
 * Whether an owner uses less than is free. This rule always leaves room for another owner, however much the others
 * want. Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998, with
 * a factor of 1.
 */
function mayUseMore(used: number, free: number): boolean {
  return used < free;
}
