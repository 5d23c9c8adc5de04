import { untrustedLimit } from '../../runtime/fairness/sender-queue.ts';

/**
 * The limit of HTTP/1.1 requests in flight to all push services together. Bun limits all requests of the process,
 * including webhooks (`BUN_CONFIG_MAX_HTTP_REQUESTS`, set in `bin/fanfare`), so hanging push services must not take
 * them all.
 */
const IN_FLIGHT_MAX = 128;

/** A pool whose requests wait for a slot. */
export interface SlotWaiter {
  /** Starts the next waiting request that may have a slot. Returns whether there was one. */
  startNext(): boolean;
}

/** Limits the HTTP/1.1 requests of all push services together. Waiting pools take turns. */
export class Http1Slots {
  private inFlight = 0;
  private untrustedInFlight = 0;
  /** The first is next. */
  private readonly waiting = new Set<SlotWaiter>();

  /** The limit of one push service: as many as it leaves free, so that another always finds one. */
  get limitPerPool(): number {
    return IN_FLIGHT_MAX - this.inFlight;
  }

  hasFree(isTrusted: boolean): boolean {
    if (this.inFlight >= IN_FLIGHT_MAX) return false;
    return isTrusted || this.untrustedInFlight < untrustedLimit(IN_FLIGHT_MAX, false);
  }

  take(isTrusted: boolean): void {
    this.count(isTrusted, 1);
  }

  /** Frees a slot, and starts the next request that waits for one. */
  giveBack(isTrusted: boolean): void {
    this.count(isTrusted, -1);
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

  private count(isTrusted: boolean, change: 1 | -1): void {
    this.inFlight += change;
    if (!isTrusted) this.untrustedInFlight += change;
  }
}
