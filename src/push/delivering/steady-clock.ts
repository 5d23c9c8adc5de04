import type { Timers } from '../../runtime/ports.ts';
import { CHECK_MS } from './limits.ts';

/**
 * The clock for waits in memory. Setting the system's clock does not move it, and a pause of the process moves it by
 * at most `CHECK_MS`: after a pause, outcomes are still unread, so the gateway only seems slow.
 */
export class SteadyClock {
  private readonly timers: Timers;
  private tickedMs = 0;
  private tickedAtMs: number;

  constructor(timers: Timers) {
    this.timers = timers;
    this.tickedAtMs = timers.now();
  }

  /** Milliseconds since the start. */
  now(): number {
    return this.at(this.timers.now());
  }

  /** Milliseconds since the start, for a caller that has already read the system's clock. */
  at(wallMs: number): number {
    return this.tickedMs + Math.min(Math.max(0, wallMs - this.tickedAtMs), CHECK_MS);
  }

  /** To be called by a timer, each time `CHECK_MS` have passed. */
  tick(): void {
    this.tickedMs += CHECK_MS;
    this.tickedAtMs = this.timers.now();
  }
}
