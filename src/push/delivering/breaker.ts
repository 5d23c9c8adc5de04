import type { Outcome } from '../gateway.ts';

/** Why a way is not used. */
export interface Opened {
  readonly why: 'gateway' | 'credential';
  readonly reason: string;
  readonly words: string;
  readonly sinceMs: number;
}

/** A send that the breaker has let through; it tells the outcomes of different times from each other. */
export type Ticket = number;

interface Pauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

const pauses: Readonly<Record<Opened['why'], Pauses>> = {
  gateway: { firstMs: 1_000, longestMs: 60_000 },
  // Somebody must mend it first.
  credential: { firstMs: 30_000, longestMs: 5 * 60_000 },
};

/** What in a row opens it: five failures of the gateway itself, or twenty of single devices. */
const STRAIN_MAX = 20;
const STRAIN_OF_GATEWAY = 4;
const STRAIN_OF_DEVICE = 1;

/** The longest that a gateway gets when it asks to be left alone. */
const ASKED_MS_MAX = 15 * 60_000;

/** A probe without an outcome is missed after this time. */
const PROBE_MS = 60_000;

/**
 * Leaves a way alone on which nobody is reached, and finds out when that ends: after a pause, one send is let
 * through as a probe; the pause doubles until one succeeds.
 */
export class Breaker {
  /** Failures in a row for want of authorisation that open it. */
  private readonly unauthorisedMax: number;
  private strain = 0;
  private unauthorised = 0;
  private opening: Opened | undefined;
  private pauseMs = 0;
  /** Of an open one: since when nobody is let through, and for how long. */
  private waitsSinceMs = 0;
  private waitsForMs = 0;
  private isProbing = false;
  private ticket: Ticket = 0;

  constructor(unauthorisedMax: number) {
    this.unauthorisedMax = unauthorisedMax;
  }

  /** Why nothing is sent, where that is so: also while a probe is under way. */
  get opened(): Opened | undefined {
    return this.opening;
  }

  /** 0 where something may be sent now, otherwise how long that takes at least. */
  waitMs(nowMs: number): number {
    if (this.opening === undefined) return 0;
    // A clock that was set back: the pause begins anew, and does not last as much longer.
    if (nowMs < this.waitsSinceMs) this.waitsSinceMs = nowMs;
    return Math.max(0, this.waitsSinceMs + this.waitsForMs - nowMs);
  }

  /** How long something should stay away that need not wait here; while a probe is under way, as if that failed. */
  awayMs(nowMs: number): number {
    return this.isProbing && this.opening !== undefined
      ? this.nextPauseMs(this.opening.why)
      : this.waitMs(nowMs);
  }

  /** Whether it stays closed to others for longer than that. */
  isOpenFor(ms: number, nowMs: number): boolean {
    return this.opening !== undefined && (this.isProbing || this.waitMs(nowMs) > ms);
  }

  /** Something is sent; to be called where `waitMs` has just said 0. Its outcome is told with the ticket. */
  begin(nowMs: number): Ticket {
    if (this.opening !== undefined) {
      this.isProbing = true;
      this.waitsSinceMs = nowMs;
      this.waitsForMs = PROBE_MS;
      this.ticket++;
    }
    return this.ticket;
  }

  /** Takes in an outcome. `'opened'` and `'closed'`: since now. */
  learn(ticket: Ticket, outcome: Outcome, nowMs: number): 'opened' | 'closed' | 'unchanged' {
    // It was sent before the last change, and says nothing of what is now.
    if (ticket !== this.ticket) return 'unchanged';
    switch (outcome.result) {
      case 'accepted':
      case 'refused':
      case 'token-gone':
        return this.worked();
      case 'not-authorised': {
        this.unauthorised++;
        const isOfAll = this.opening !== undefined || this.unauthorised >= this.unauthorisedMax;
        if (!isOfAll) return 'unchanged';
        const { reason, words } = outcome;
        return this.open({ why: 'credential', reason, words, sinceMs: nowMs }, 0);
      }
      case 'try-again': {
        const { scope, reason, afterMs } = outcome;
        this.strain += scope === 'gateway' ? STRAIN_OF_GATEWAY : STRAIN_OF_DEVICE;
        const askedMs = scope === 'gateway' ? Math.min(afterMs ?? 0, ASKED_MS_MAX) : 0;
        if (this.opening === undefined && this.strain < STRAIN_MAX && askedMs === 0) {
          return 'unchanged';
        }
        return this.open({ why: 'gateway', reason, words: '', sinceMs: nowMs }, askedMs);
      }
      default:
        return outcome satisfies never;
    }
  }

  /** Begins anew, as where a credential was replaced. */
  reset(): void {
    this.close();
  }

  private worked(): 'closed' | 'unchanged' {
    this.strain = 0;
    this.unauthorised = 0;
    if (this.opening === undefined) return 'unchanged';
    this.close();
    return 'closed';
  }

  private close(): void {
    this.opening = undefined;
    this.strain = 0;
    this.unauthorised = 0;
    this.isProbing = false;
    this.pauseMs = 0;
    this.ticket++;
  }

  private nextPauseMs(why: Opened['why']): number {
    const { firstMs, longestMs } = pauses[why];
    return Math.min(longestMs, Math.max(firstMs, this.pauseMs * 2));
  }

  private open(opened: Opened, askedMs: number): 'opened' | 'unchanged' {
    const before = this.opening;
    this.pauseMs = this.nextPauseMs(opened.why);
    this.waitsSinceMs = opened.sinceMs;
    this.waitsForMs = Math.max(this.pauseMs, askedMs);
    this.isProbing = false;
    this.ticket++;
    this.opening = { ...opened, sinceMs: before?.sinceMs ?? opened.sinceMs };
    return before === undefined ? 'opened' : 'unchanged';
  }
}
