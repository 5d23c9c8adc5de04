import type { Timers } from '../../runtime/ports.ts';
import { RecentSet } from '../../runtime/recent.ts';

/** How long a send waits for those that the client sent before it. Milliseconds. */
const WAIT_MS = 50;

/** Sends that may wait; with more, all are taken in their order. */
const HELD_MAX = 64;

/** Numbers that are remembered, so that a repeated send is known. */
const REMEMBERED = 256;

/**
 * Puts the sends of one session in order. Browsers send up to five requests at a time, and these overtake one another by a
 * few places; they also repeat a request whose connection broke. Source: HTTP transports, §8.
 */
export class SendOrder<Send> {
  private readonly timers: Timers;
  private readonly take: (send: Send) => void;
  /** All numbers up to here were used or given up. */
  private highest: number | undefined;
  private readonly used = new RecentSet<number>(REMEMBERED);
  /** Sends that came too early, by number. */
  private readonly held = new Map<number, Send>();
  private cancelWait: (() => void) | undefined;

  /** `take` gets each send once, in order. */
  constructor(timers: Timers, take: (send: Send) => void) {
    this.timers = timers;
    this.take = take;
  }

  /** A receive request has used a number. */
  receiving(number: number | undefined): void {
    if (number === undefined) return;
    this.used.add(number);
    // Sends begin behind the first receive request.
    this.highest ??= number;
    this.advance();
  }

  /** Passes on a send, or holds it until the sends before it have come. `false`: it is a duplicate. */
  arrived(number: number | undefined, send: Send): boolean {
    if (number === undefined || this.highest === undefined) {
      this.take(send);
      return true;
    }
    if (this.used.has(number) || this.held.has(number)) return false;
    if (number <= this.highest + 1) {
      this.used.add(number);
      this.take(send);
      this.advance();
      return true;
    }
    this.held.set(number, send);
    if (this.held.size > HELD_MAX) this.giveUpWaiting();
    else this.cancelWait ??= this.timers.after(WAIT_MS, () => this.giveUpWaiting());
    return true;
  }

  /** Whether a request with this number has arrived, as far as it is remembered. */
  hasUsed(number: number): boolean {
    return this.used.has(number);
  }

  /** Drops all held sends: the session has ended. */
  forget(): void {
    this.held.clear();
    this.cancelWait?.();
    this.cancelWait = undefined;
  }

  /** Advances over used numbers, and passes on the sends that waited for them. */
  private advance(): void {
    let highest: number | undefined = this.highest;
    if (highest === undefined) return;
    for (;;) {
      const next: number = highest + 1;
      const send = this.held.get(next);
      if (send !== undefined) {
        this.held.delete(next);
        this.used.add(next);
        this.take(send);
      } else if (!this.used.has(next)) {
        break;
      }
      highest = next;
      this.highest = next;
    }
    if (this.held.size === 0) this.forget();
  }

  /** Passes on all held sends: the missing numbers belong to other objects of the page, or are late. */
  private giveUpWaiting(): void {
    this.cancelWait = undefined;
    const inOrder = [...this.held].sort(([a], [b]) => a - b);
    this.held.clear();
    for (const [number, send] of inOrder) {
      this.used.add(number);
      this.highest = Math.max(this.highest ?? 0, number);
      this.take(send);
    }
    this.advance();
  }
}
