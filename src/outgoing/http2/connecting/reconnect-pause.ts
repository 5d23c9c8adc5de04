import { doubledMs } from '../../../runtime/time/back-off.ts';

/** Pause between attempts to connect; it doubles with each failure. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 10_000;

/** Counts failed connection attempts, and determines when the next one may start. */
export class ReconnectPause {
  /** Failures in a row. */
  failures = 0;
  private untilMs = 0;

  isOver(nowMs: number): boolean {
    return nowMs >= this.untilMs;
  }

  onFailure(nowMs: number): void {
    this.failures++;
    const pauseMs = doubledMs(PAUSE_MS, { times: this.failures - 1, maxMs: PAUSE_MS_MAX });
    // Jitter: other nodes reconnect as well.
    this.untilMs = nowMs + pauseMs * (0.5 + Math.random() / 2);
  }

  /** A connection has answered a request. */
  onUseful(): void {
    this.failures = 0;
  }

  /** Lets the next attempt begin at once. */
  end(): void {
    this.failures = 0;
    this.untilMs = 0;
  }
}
