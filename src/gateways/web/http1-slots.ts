import { untrustedLimit } from '../../runtime/fairness/sender-queue.ts';

/**
 * The limit of HTTP/1.1 requests in flight to all push services together. Bun limits all requests of the process,
 * including webhooks (`BUN_CONFIG_MAX_HTTP_REQUESTS`, set in `bin/fanfare`), so hanging push services must not take
 * them all.
 */
const IN_FLIGHT_MAX = 128;

/** Untrusted requests may take as many of them. */
const UNTRUSTED_MAX = untrustedLimit(IN_FLIGHT_MAX, false);

/**
 * Of those, the ones behind the first untrusted request of each push service. The others are for the first ones, so that
 * hanging services, of which there are 50 at most, do not keep a new one out.
 */
const UNTRUSTED_FURTHER_MAX = UNTRUSTED_MAX - 50;

/** What takes a slot: a request of a trusted device, or the first or a further one of others to a push service. */
export type RequestKind = 'trusted' | 'first-untrusted' | 'further-untrusted';

/** A pool whose requests wait for a slot. */
export interface SlotWaiter {
  /** Starts the next waiting request that may have a slot. Returns whether there was one. */
  startNext(): boolean;
}

/** Limits the HTTP/1.1 requests of all push services together. Waiting pools take turns. */
export class Http1Slots {
  private inFlight = 0;
  private untrustedInFlight = 0;
  private furtherInFlight = 0;
  /** The first is next. */
  private readonly waiting = new Set<SlotWaiter>();

  /** The limit of one push service: as many as it leaves free, so that another always finds one. */
  get limitPerPool(): number {
    return IN_FLIGHT_MAX - this.inFlight;
  }

  hasFree(request: RequestKind): boolean {
    if (this.inFlight >= IN_FLIGHT_MAX) return false;
    if (request === 'trusted') return true;
    if (this.untrustedInFlight >= UNTRUSTED_MAX) return false;
    return request === 'first-untrusted' || this.furtherInFlight < UNTRUSTED_FURTHER_MAX;
  }

  take(request: RequestKind): void {
    this.count(request, 1);
  }

  /** Frees a slot, and starts the next request that waits for one. */
  giveBack(request: RequestKind): void {
    this.count(request, -1);
    for (let hasStarted = true; hasStarted; ) {
      hasStarted = false;
      for (const pool of [...this.waiting]) {
        if (!pool.startNext()) continue;
        hasStarted = true;
        // If it still waits, it goes to the end.
        if (this.waiting.delete(pool)) this.waiting.add(pool);
      }
    }
  }

  wait(pool: SlotWaiter): void {
    this.waiting.add(pool);
  }

  stopWaiting(pool: SlotWaiter): void {
    this.waiting.delete(pool);
  }

  private count(request: RequestKind, change: 1 | -1): void {
    this.inFlight += change;
    if (request !== 'trusted') this.untrustedInFlight += change;
    if (request === 'further-untrusted') this.furtherInFlight += change;
  }
}
