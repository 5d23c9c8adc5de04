import { type Endable, endWith } from '../clients/closing/end.ts';

/** How many may wait. */
const NEWCOMERS_MAX = 10_000;

/**
 * Clients that connect while the server stops. The close brings a client back within milliseconds or a second, perhaps to
 * this server again, so each waits for it: otherwise it would come hundreds of times.
 */
export class Newcomers {
  /** Why they are closed. */
  problem: 'server-stopping' | 'server-restarting' = 'server-stopping';
  /** The oldest first. */
  private readonly waiting = new Set<Endable>();

  get size(): number {
    return this.waiting.size;
  }

  /** Lets a client wait. At the limit, the oldest is closed. */
  add(newcomer: Endable): void {
    if (this.waiting.size >= NEWCOMERS_MAX) this.end(1);
    this.waiting.add(newcomer);
  }

  /** Forgets a client that has left. */
  delete(newcomer: Endable): void {
    this.waiting.delete(newcomer);
  }

  /** Closes the oldest. */
  end(count: number): void {
    let left = count;
    for (const newcomer of this.waiting) {
      if (left === 0) break;
      left--;
      this.waiting.delete(newcomer);
      endWith(newcomer, this.problem);
    }
  }
}
