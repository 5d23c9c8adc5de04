import { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import { type AddressKey, keyOf, type PackedAddress } from '../clients/addresses/packed-address.ts';

/** How many sessions are remembered. */
const SESSIONS_MAX = 8192;

/**
 * How long a session is remembered: what a client has for its second poll, and what a copy of a request may be late.
 * Milliseconds. Source: HTTP transports, §10.2.
 */
const REMEMBERED_MS = 10_000;

interface RecentSession {
  readonly address: AddressKey;
  readonly sinceMs: number;
  readonly number: number | undefined;
}

/**
 * Sessions without a connection, each with the number of its last receive request. At the limit, the largest address loses its
 * oldest one.
 */
export class RecentSessions {
  /** The oldest first. */
  private readonly sessions = new Map<string, RecentSession>();
  private readonly budget = new FairBudget<AddressKey>(SESSIONS_MAX);
  private readonly onDropped: (session: string) => void;

  /** `onDropped` is called with each session that was not taken in time. */
  constructor(onDropped: (session: string) => void) {
    this.onDropped = onDropped;
  }

  get size(): number {
    return this.sessions.size;
  }

  /** `number`: of the last receive request. */
  add(
    session: string,
    {
      address,
      number,
      nowMs,
    }: { address: PackedAddress; number: number | undefined; nowMs: number },
  ): void {
    this.take(session);
    const key = keyOf(address);
    for (;;) {
      const yielding = this.budget.ownerToEvict(key);
      if (yielding === undefined) break;
      this.dropOldestOf(yielding);
    }
    this.sessions.set(session, { address: key, sinceMs: nowMs, number });
    this.budget.add(key);
  }

  has(session: string): boolean {
    return this.sessions.has(session);
  }

  /** Returns the number of its last receive request. */
  numberOf(session: string): number | undefined {
    return this.sessions.get(session)?.number;
  }

  /** Takes a session out; `undefined`: it is not known. */
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
      if (nowMs - sinceMs < REMEMBERED_MS) break;
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
