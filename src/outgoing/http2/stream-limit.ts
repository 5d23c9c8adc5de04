import { doubledMs } from '../../runtime/time/back-off.ts';

/** Pause after a peer refused the only request in flight. It doubles each time. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5_000;

const NO_LIMIT = Number.POSITIVE_INFINITY;

/**
 * How many streams a connection may have: the least of our own limit, the peer's, and what the peer was seen to accept.
 *
 * A peer that refuses streams although they are within its limit lowers that third number; answers raise it again.
 */
export class StreamLimit {
  /** The limit now. A field, because it is read several times for each request. */
  streams: number;
  private readonly own: number;
  private announced = NO_LIMIT;
  private observed = NO_LIMIT;
  private answersSinceRaised = 0;
  private pausedUntilMs: number | undefined;
  private pauses = 0;

  constructor(own: number) {
    this.own = own;
    this.streams = own;
  }

  /** Whether no stream may be opened for now. */
  get isPaused(): boolean {
    return this.pausedUntilMs !== undefined;
  }

  /** The peer announced its limit, which replaces what was observed. */
  announce(streams: number): void {
    this.announced = streams;
    this.observe(NO_LIMIT);
  }

  onAnswer(): void {
    this.pauses = 0;
    if (this.observed === NO_LIMIT) return;
    this.answersSinceRaised++;
    if (this.answersSinceRaised < this.observed) return;
    this.answersSinceRaised = 0;
    this.observe(this.observed + 1);
  }

  /** The peer refused a stream while it had `inFlight` others. */
  onRefused(inFlight: number, nowMs: number): void {
    this.answersSinceRaised = 0;
    this.observe(Math.max(1, inFlight));
    if (inFlight > 0) return;
    this.pausedUntilMs = nowMs + doubledMs(PAUSE_MS, { times: this.pauses, maxMs: PAUSE_MS_MAX });
    this.pauses++;
  }

  /** Ends an expired pause. Returns whether there was one. */
  endPause(nowMs: number): boolean {
    if (this.pausedUntilMs === undefined || this.pausedUntilMs > nowMs) return false;
    this.pausedUntilMs = undefined;
    return true;
  }

  private observe(streams: number): void {
    this.observed = streams;
    this.streams = Math.min(this.own, this.announced, streams);
  }
}
