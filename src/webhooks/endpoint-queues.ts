import { kindOf, ownerOf, shareOf } from './endpoint.ts';
import {
  CLAIM_ENDPOINTS,
  CLAIM_ROWS,
  ENDPOINT_BYTES_MAX,
  ENDPOINT_ROWS_MAX,
  inFlightMax,
  WAITING_BYTES_MAX,
  WAITING_ROWS_MAX,
} from './limits.ts';
import type {
  ClaimedRequest,
  EndpointBacklog,
  EndpointClaim,
  OutboxKind,
  OutboxRequest,
  Settlement,
} from './outbox.ts';

/** The room that one endpoint has, or several that one owner may choose freely have together. */
interface Share {
  readonly name: string;
  queues: number;
  /** Waiting, under way ones included. */
  rows: number;
  bytes: number;
  inFlight: number;
}

/** What waits for all endpoints of one app or instance, and what is under way to them. */
interface Owner {
  readonly name: string;
  queues: number;
  /** Waiting, under way ones included. */
  rows: number;
  bytes: number;
  readonly inFlight: Record<OutboxKind, number>;
}

/** What is known of one endpoint for which something waits. */
interface EndpointQueue {
  readonly endpoint: string;
  readonly kind: OutboxKind;
  readonly share: Share;
  readonly owner: Owner;
  /** Waiting, under way ones included. */
  rows: number;
  bytes: number;
  /** When the oldest of them was made, as far as known. */
  oldestAtMs: number;
  /** Before this, nothing unclaimed is due. */
  dueAtMs: number;
  claimed: ClaimedRequest[];
  inFlight: number;
  /** The last attempt failed: it gets one at a time until one succeeds. */
  failing: boolean;
}

/**
 * Whose turn it is. Each endpoint has a queue of its own with few requests under way at once, and queues take
 * turns, so that one that is slow or has much waiting delays no other. Each kind has its own number of requests
 * that may be under way, so that none waits for another. What waits and what is under way is shared by the owners of
 * the endpoints: none has more than it leaves free, whatever the number of its endpoints.
 */
export class EndpointQueues {
  private readonly queues = new Map<string, EndpointQueue>();
  private readonly shares = new Map<string, Share>();
  private readonly owners = new Map<string, Owner>();
  private readonly inFlightOf: Record<OutboxKind, number> = { channels: 0, push: 0, publish: 0 };
  rows = 0;
  bytes = 0;

  get inFlight(): number {
    const { channels, push, publish } = this.inFlightOf;
    return channels + push + publish;
  }

  /** Counts a new request in, or says what is full: the endpoint's room, or its owner's share of the outbox. */
  admit({ endpoint, bodyBytes, createdAtMs }: OutboxRequest): 'admitted' | 'outbox' | 'endpoint' {
    const owner = this.owners.get(ownerOf(endpoint)) ?? NOTHING;
    const freeRows = WAITING_ROWS_MAX - this.rows;
    const freeBytes = WAITING_BYTES_MAX - this.bytes;
    if (!mayTakeMore(owner.rows, freeRows)) return 'outbox';
    if (!mayTakeMore(owner.bytes, freeBytes) || bodyBytes > freeBytes) return 'outbox';
    const share = this.shares.get(shareOf(endpoint)) ?? NOTHING;
    if (share.rows >= ENDPOINT_ROWS_MAX || share.bytes + bodyBytes > ENDPOINT_BYTES_MAX) {
      return 'endpoint';
    }
    const queue = this.queue(endpoint);
    this.count(queue, 1, bodyBytes);
    queue.oldestAtMs = Math.min(queue.oldestAtMs, createdAtMs);
    return 'admitted';
  }

  /** Replayed requests are counted in whatever waits: an operator asked for them. */
  readmit({ endpoint, bodyBytes, createdAtMs }: OutboxRequest, nowMs: number): void {
    const queue = this.queue(endpoint);
    this.count(queue, 1, bodyBytes);
    queue.oldestAtMs = Math.min(queue.oldestAtMs, createdAtMs);
    this.dueFrom(endpoint, nowMs);
  }

  /** Something for this endpoint is due from then on. */
  dueFrom(endpoint: string, atMs: number): void {
    const queue = this.queue(endpoint);
    queue.dueAtMs = Math.min(queue.dueAtMs, atMs);
  }

  /** Takes in what the store now says of a request. */
  settled({ request, next }: Settlement): void {
    const { endpoint, kind, bodyBytes } = request;
    if (next.state === 'waiting') this.dueFrom(endpoint, next.atMs);
    else this.count(this.queue(endpoint), -1, -bodyBytes);
    this.dropIfIdle(this.queue(endpoint));
    // The end of a publish waits for its start. Another server may have stored it, so that it is not counted here.
    if (next.state !== 'waiting' && kind === 'publish') this.dueFrom(endpoint, next.atMs);
  }

  /** Takes in what waits in the store, which other processes may have changed. */
  refresh(backlog: readonly EndpointBacklog[]): void {
    this.rows = 0;
    this.bytes = 0;
    for (const shared of [...this.shares.values(), ...this.owners.values()]) {
      shared.rows = 0;
      shared.bytes = 0;
    }
    const found = new Map(backlog.map((entry) => [entry.endpoint, entry]));
    for (const endpoint of found.keys()) this.queue(endpoint);
    for (const queue of this.queues.values()) {
      const entry = found.get(queue.endpoint);
      queue.rows = 0;
      queue.bytes = 0;
      this.count(queue, entry?.rows ?? 0, entry?.bytes ?? 0);
      queue.oldestAtMs = entry?.oldestAtMs ?? Number.POSITIVE_INFINITY;
      queue.dueAtMs = Math.min(queue.dueAtMs, entry?.dueAtMs ?? Number.POSITIVE_INFINITY);
      this.dropIfIdle(queue);
    }
  }

  /** For which endpoints requests should be claimed now, and how many. */
  hungry(nowMs: number): { readonly endpoint: string; readonly limit: number }[] {
    const hungry: { readonly endpoint: string; readonly limit: number }[] = [];
    for (const queue of this.queues.values()) {
      if (queue.claimed.length > 0 || queue.dueAtMs > nowMs || !this.maySend(queue)) continue;
      hungry.push({ endpoint: queue.endpoint, limit: queue.failing ? 1 : CLAIM_ROWS });
      if (hungry.length === CLAIM_ENDPOINTS) break;
    }
    return hungry;
  }

  feed({ endpoint, requests, dueAtMs }: EndpointClaim): void {
    const queue = this.queue(endpoint);
    queue.claimed.push(...requests);
    queue.dueAtMs = dueAtMs ?? Number.POSITIVE_INFINITY;
    this.dropIfIdle(queue);
  }

  /** The next request to send, if one may be sent now; counted as under way until `done`. */
  next(): ClaimedRequest | undefined {
    for (const queue of this.queues.values()) {
      if (queue.claimed.length === 0 || !this.maySend(queue)) continue;
      const request = queue.claimed.shift();
      this.countInFlight(queue, 1);
      // To the end of the line.
      this.queues.delete(queue.endpoint);
      this.queues.set(queue.endpoint, queue);
      return request;
    }
    return undefined;
  }

  /** Takes back what was claimed and is not under way. */
  takeClaimed(): readonly ClaimedRequest[] {
    const taken: ClaimedRequest[] = [];
    for (const queue of this.queues.values()) taken.push(...queue.claimed.splice(0));
    return taken;
  }

  done(endpoint: string, failed: boolean): void {
    const queue = this.queue(endpoint);
    this.countInFlight(queue, -1);
    queue.failing = failed;
    this.dropIfIdle(queue);
  }

  /** When a claim is worth trying again for a queue that could send, or infinity: then an answer comes first. */
  nextDueAtMs(): number {
    let dueAtMs = Number.POSITIVE_INFINITY;
    for (const queue of this.queues.values()) {
      if (queue.claimed.length === 0 && this.maySend(queue)) {
        dueAtMs = Math.min(dueAtMs, queue.dueAtMs);
      }
    }
    return dueAtMs;
  }

  oldestAtMs(): number | undefined {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { rows, oldestAtMs } of this.queues.values()) {
      if (rows > 0) oldest = Math.min(oldest, oldestAtMs);
    }
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  /** Whether one more request of the queue may be under way. */
  private maySend({ kind, share, owner, inFlight, failing }: EndpointQueue): boolean {
    const max = inFlightMax[kind];
    const ofKind = this.inFlightOf[kind];
    if (share.inFlight >= max.share) return false;
    if (!mayTakeMore(owner.inFlight[kind], max.all - ofKind)) return false;
    return inFlight < (failing || ofKind >= max.crowded ? 1 : max.endpoint);
  }

  private countInFlight(queue: EndpointQueue, by: 1 | -1): void {
    queue.inFlight += by;
    queue.share.inFlight += by;
    queue.owner.inFlight[queue.kind] += by;
    this.inFlightOf[queue.kind] += by;
  }

  private count(queue: EndpointQueue, rows: number, bytes: number): void {
    queue.rows += rows;
    queue.bytes += bytes;
    for (const shared of [queue.share, queue.owner]) {
      shared.rows += rows;
      shared.bytes += bytes;
    }
    this.rows += rows;
    this.bytes += bytes;
    if (queue.rows === 0) queue.oldestAtMs = Number.POSITIVE_INFINITY;
  }

  private queue(endpoint: string): EndpointQueue {
    const known = this.queues.get(endpoint);
    if (known !== undefined) return known;
    const share = this.share(shareOf(endpoint));
    share.queues++;
    const owner = this.owner(ownerOf(endpoint));
    owner.queues++;
    const queue: EndpointQueue = {
      endpoint,
      kind: kindOf(endpoint),
      share,
      owner,
      rows: 0,
      bytes: 0,
      oldestAtMs: Number.POSITIVE_INFINITY,
      dueAtMs: Number.POSITIVE_INFINITY,
      claimed: [],
      inFlight: 0,
      failing: false,
    };
    this.queues.set(endpoint, queue);
    return queue;
  }

  /** Endpoints come and go with the configuration; only those that something waits for are remembered. */
  private dropIfIdle(queue: EndpointQueue): void {
    const idle = queue.rows <= 0 && queue.inFlight === 0 && queue.claimed.length === 0;
    if (!idle) return;
    this.queues.delete(queue.endpoint);
    queue.share.queues--;
    if (queue.share.queues === 0) this.shares.delete(queue.share.name);
    queue.owner.queues--;
    if (queue.owner.queues === 0) this.owners.delete(queue.owner.name);
  }

  private share(name: string): Share {
    const known = this.shares.get(name);
    if (known !== undefined) return known;
    const share: Share = { name, queues: 0, rows: 0, bytes: 0, inFlight: 0 };
    this.shares.set(name, share);
    return share;
  }

  private owner(name: string): Owner {
    const known = this.owners.get(name);
    if (known !== undefined) return known;
    const inFlight = { channels: 0, push: 0, publish: 0 };
    const owner: Owner = { name, queues: 0, rows: 0, bytes: 0, inFlight };
    this.owners.set(name, owner);
    return owner;
  }
}

/** What is known of a share or an owner for which nothing waits. */
const NOTHING = { rows: 0, bytes: 0 };

/**
 * Whether an owner holds less than is free. With this rule for each, something is free however many owners want all of
 * it. Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998, with a
 * factor of 1.
 */
function mayTakeMore(held: number, free: number): boolean {
  return held < free;
}
