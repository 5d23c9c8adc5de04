import type {
  ClaimedRequest,
  EndpointBacklog,
  EndpointClaim,
  OutboxRequest,
  Settlement,
} from '../channels/outbox.ts';
import {
  CLAIM_ENDPOINTS,
  CLAIM_ROWS,
  ENDPOINT_BYTES_MAX,
  ENDPOINT_IN_FLIGHT_MAX,
  ENDPOINT_ROWS_MAX,
  IN_FLIGHT_CROWDED,
  IN_FLIGHT_MAX,
  WAITING_BYTES_MAX,
  WAITING_ROWS_MAX,
} from './limits.ts';

/** What is known of one endpoint for which something waits. */
interface Lane {
  readonly endpoint: string;
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
 * Whose turn it is. Each endpoint has a lane of its own with few requests under way at once, and lanes take
 * turns, so that one that is slow or has much waiting delays no other.
 */
export class Lanes {
  private readonly lanes = new Map<string, Lane>();
  inFlight = 0;
  rows = 0;
  bytes = 0;

  /** Counts a new request in, or says what is full. */
  admit({ endpoint, bodyBytes, createdAtMs }: OutboxRequest): 'admitted' | 'outbox' | 'endpoint' {
    if (this.rows >= WAITING_ROWS_MAX || this.bytes + bodyBytes > WAITING_BYTES_MAX)
      return 'outbox';
    const lane = this.lane(endpoint);
    if (lane.rows >= ENDPOINT_ROWS_MAX || lane.bytes + bodyBytes > ENDPOINT_BYTES_MAX) {
      return 'endpoint';
    }
    this.count(lane, 1, bodyBytes);
    lane.oldestAtMs = Math.min(lane.oldestAtMs, createdAtMs);
    return 'admitted';
  }

  /** Replayed requests are counted in whatever waits: an operator asked for them. */
  readmit({ endpoint, bodyBytes, createdAtMs }: OutboxRequest, nowMs: number): void {
    const lane = this.lane(endpoint);
    this.count(lane, 1, bodyBytes);
    lane.oldestAtMs = Math.min(lane.oldestAtMs, createdAtMs);
    this.dueFrom(endpoint, nowMs);
  }

  /** Something for this endpoint is due from then on. */
  dueFrom(endpoint: string, atMs: number): void {
    const lane = this.lane(endpoint);
    lane.dueAtMs = Math.min(lane.dueAtMs, atMs);
  }

  /** Takes in what the store now says of a request. */
  settled({ request, next }: Settlement): void {
    if (next.state === 'waiting') this.dueFrom(request.endpoint, next.atMs);
    else this.count(this.lane(request.endpoint), -1, -request.bodyBytes);
    this.dropIfIdle(this.lane(request.endpoint));
  }

  /** Takes in what waits in the store, which other processes may have changed. */
  refresh(backlog: readonly EndpointBacklog[]): void {
    this.rows = 0;
    this.bytes = 0;
    const found = new Map(backlog.map((entry) => [entry.endpoint, entry]));
    for (const endpoint of found.keys()) this.lane(endpoint);
    for (const lane of this.lanes.values()) {
      const entry = found.get(lane.endpoint);
      lane.rows = 0;
      lane.bytes = 0;
      this.count(lane, entry?.rows ?? 0, entry?.bytes ?? 0);
      lane.oldestAtMs = entry?.oldestAtMs ?? Number.POSITIVE_INFINITY;
      lane.dueAtMs = Math.min(lane.dueAtMs, entry?.dueAtMs ?? Number.POSITIVE_INFINITY);
      this.dropIfIdle(lane);
    }
  }

  /** For which endpoints requests should be claimed now, and how many. */
  hungry(nowMs: number): { readonly endpoint: string; readonly limit: number }[] {
    if (this.inFlight >= IN_FLIGHT_MAX) return [];
    const hungry: { readonly endpoint: string; readonly limit: number }[] = [];
    for (const lane of this.lanes.values()) {
      if (lane.claimed.length > 0 || lane.dueAtMs > nowMs || lane.inFlight >= this.limit(lane)) {
        continue;
      }
      hungry.push({ endpoint: lane.endpoint, limit: lane.failing ? 1 : CLAIM_ROWS });
      if (hungry.length === CLAIM_ENDPOINTS) break;
    }
    return hungry;
  }

  feed({ endpoint, requests, dueAtMs }: EndpointClaim): void {
    const lane = this.lane(endpoint);
    lane.claimed.push(...requests);
    lane.dueAtMs = dueAtMs ?? Number.POSITIVE_INFINITY;
    this.dropIfIdle(lane);
  }

  /** The next request to send, if one may be sent now; counted as under way until `done`. */
  next(): ClaimedRequest | undefined {
    if (this.inFlight >= IN_FLIGHT_MAX) return undefined;
    for (const lane of this.lanes.values()) {
      if (lane.inFlight >= this.limit(lane)) continue;
      const request = lane.claimed.shift();
      if (request === undefined) continue;
      lane.inFlight++;
      this.inFlight++;
      // To the end of the line.
      this.lanes.delete(lane.endpoint);
      this.lanes.set(lane.endpoint, lane);
      return request;
    }
    return undefined;
  }

  /** Takes back what was claimed and is not under way. */
  takeClaimed(): readonly ClaimedRequest[] {
    const taken: ClaimedRequest[] = [];
    for (const lane of this.lanes.values()) taken.push(...lane.claimed.splice(0));
    return taken;
  }

  done(endpoint: string, failed: boolean): void {
    const lane = this.lane(endpoint);
    lane.inFlight--;
    this.inFlight--;
    lane.failing = failed;
    this.dropIfIdle(lane);
  }

  /** When a claim is worth trying again for a lane that could send, or infinity: then an answer comes first. */
  nextDueAtMs(): number {
    let dueAtMs = Number.POSITIVE_INFINITY;
    if (this.inFlight >= IN_FLIGHT_MAX) return dueAtMs;
    for (const lane of this.lanes.values()) {
      if (lane.claimed.length === 0 && lane.inFlight < this.limit(lane)) {
        dueAtMs = Math.min(dueAtMs, lane.dueAtMs);
      }
    }
    return dueAtMs;
  }

  oldestAtMs(): number | undefined {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { rows, oldestAtMs } of this.lanes.values()) {
      if (rows > 0) oldest = Math.min(oldest, oldestAtMs);
    }
    return Number.isFinite(oldest) ? oldest : undefined;
  }

  private limit(lane: Lane): number {
    return lane.failing || this.inFlight >= IN_FLIGHT_CROWDED ? 1 : ENDPOINT_IN_FLIGHT_MAX;
  }

  private count(lane: Lane, rows: number, bytes: number): void {
    lane.rows += rows;
    lane.bytes += bytes;
    this.rows += rows;
    this.bytes += bytes;
    if (lane.rows === 0) lane.oldestAtMs = Number.POSITIVE_INFINITY;
  }

  private lane(endpoint: string): Lane {
    const known = this.lanes.get(endpoint);
    if (known !== undefined) return known;
    const lane: Lane = {
      endpoint,
      rows: 0,
      bytes: 0,
      oldestAtMs: Number.POSITIVE_INFINITY,
      dueAtMs: Number.POSITIVE_INFINITY,
      claimed: [],
      inFlight: 0,
      failing: false,
    };
    this.lanes.set(endpoint, lane);
    return lane;
  }

  /** Endpoints come and go with the configuration; only those that something waits for are remembered. */
  private dropIfIdle(lane: Lane): void {
    const idle = lane.rows <= 0 && lane.inFlight === 0 && lane.claimed.length === 0;
    if (idle) this.lanes.delete(lane.endpoint);
  }
}
