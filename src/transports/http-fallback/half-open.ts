import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import { type AddressKey, keyOf, type PackedAddress } from '../clients/addresses/packed-address.ts';

/** Sessions that have polled once, in all. */
const HALF_OPEN_MAX = 8192;

/** How long a client has for its second poll. Milliseconds. Source: HTTP transports, §10.2. */
const HALF_OPEN_MS = 10_000;

interface HalfOpen {
  readonly address: AddressKey;
  readonly sinceMs: number;
  readonly number: number | undefined;
}

/**
 * Sessions whose first poll was answered. They are no connections yet, because a client that has just learned that
 * its session is lost also sends such a poll. At the limit, the largest address loses its oldest one.
 */
export class HalfOpenSessions {
  /** The oldest first. */
  private readonly sessions = new Map<string, HalfOpen>();
  private readonly budget = new FairBudget<AddressKey>(HALF_OPEN_MAX);
  private readonly onDropped: (session: string) => void;

  /** `onDropped` is called with each session whose client has not polled again. */
  constructor(onDropped: (session: string) => void) {
    this.onDropped = onDropped;
  }

  get size(): number {
    return this.sessions.size;
  }

  /** `number`: of the poll. */
  add(
    session: string,
    {
      address,
      number,
      nowMs,
    }: { address: PackedAddress; number: number | undefined; nowMs: number },
  ): void {
    const key = keyOf(address);
    for (;;) {
      const yielding = this.budget.whoYields(key);
      if (yielding === undefined) break;
      this.dropOldestOf(yielding);
    }
    this.sessions.set(session, { address: key, sinceMs: nowMs, number });
    this.budget.add(key);
  }

  has(session: string): boolean {
    return this.sessions.has(session);
  }

  /** Takes a session out; `undefined`: it is not half-open. */
  take(session: string): { readonly number: number | undefined } | undefined {
    const known = this.sessions.get(session);
    if (known === undefined) return undefined;
    this.sessions.delete(session);
    this.budget.release(known.address);
    return known;
  }

  /** Forgets those that have waited for too long. */
  check(nowMs: number): void {
    for (const [session, { sinceMs }] of this.sessions) {
      if (nowMs - sinceMs < HALF_OPEN_MS) break;
      this.drop(session);
    }
  }

  /** Linear, but only called when there are too many. */
  private dropOldestOf(address: AddressKey): void {
    for (const [session, known] of this.sessions) {
      if (known.address !== address) continue;
      this.drop(session);
      return;
    }
  }

  private drop(session: string): void {
    this.take(session);
    this.onDropped(session);
  }
}
