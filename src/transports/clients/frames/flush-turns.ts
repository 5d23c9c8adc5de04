import type { App } from '../../../channels/app.ts';

/** How long connections are flushed in one turn of the loop: what an event for WebSockets may wait. Milliseconds. */
const TURN_MS = 1;

/** Connections that are flushed before the clock is read, and before the next app's. */
const FLUSHED_AT_ONCE = 8;

/** The share of a core from which on the loop is busy. */
const BUSY_FROM = 0.6;

/** The pause of a busy loop between two rounds: this many times the last round, and at most this many milliseconds. */
const PAUSE_TIMES = 20;
const PAUSE_MS_MAX = 50;

/** What is flushed, with the app that it belongs to. */
interface Flushed {
  readonly app: App;
}

export interface FlushTurnsOptions<Connection> {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** The share of a core that the loop used recently, from 0 to 1. */
  readonly busyShare: (nowMs: number) => number;
  /** Runs something once the loop has handled everything that arrived in this turn. */
  readonly afterTurn: (run: () => void) => void;
  readonly after: (delayMs: number, run: () => void) => unknown;
  readonly flush: (connection: Connection) => void;
}

/**
 * Flushes each connection over HTTP with new messages once per round, so that all messages since the last round share a write.
 * Every flush costs JavaScript and a write, which would delay the WebSockets of a busy channel. Therefore a turn of
 * the loop spends one millisecond on flushes, apps take turns, and a busy loop pauses between two rounds. Then more
 * messages share a write.
 */
export class FlushTurns<Connection extends Flushed> {
  private readonly options: FlushTurnsOptions<Connection>;
  /** By app; the first in order is next. */
  private readonly waiting = new Map<App, Set<Connection>>();
  private isPlanned = false;
  /** How long the turns of this round took. */
  private tookMs = 0;
  /** How long a busy loop pauses after the last one. */
  private pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: FlushTurnsOptions<Connection>) {
    this.options = options;
  }

  add(connection: Connection): void {
    const { app } = connection;
    const ofApp = this.waiting.get(app);
    if (ofApp === undefined) this.waiting.set(app, new Set([connection]));
    else ofApp.add(connection);
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.beginRound();
  }

  /** Whether the loop has no time for connections now, not even for one that asks. */
  get isPausing(): boolean {
    return this.pauseLeftMs() > 0;
  }

  private beginRound(): void {
    const { afterTurn, after } = this.options;
    const leftMs = this.pauseLeftMs();
    if (leftMs > 0) after(leftMs, this.run);
    else afterTurn(this.run);
  }

  private pauseLeftMs(): number {
    const { now, busyShare } = this.options;
    const nowMs = now();
    const leftMs = this.pausedUntilMs - nowMs;
    return leftMs > 0 && busyShare(nowMs) >= BUSY_FROM ? leftMs : 0;
  }

  private readonly run = (): void => {
    const { now, afterTurn } = this.options;
    const beganMs = now();
    let nowMs = beganMs;
    do {
      this.flushSome();
      nowMs = now();
    } while (this.waiting.size > 0 && nowMs < beganMs + TURN_MS);
    this.tookMs += nowMs - beganMs;
    if (this.waiting.size > 0) return afterTurn(this.run);
    this.pausedUntilMs = nowMs + Math.min(PAUSE_MS_MAX, PAUSE_TIMES * this.tookMs);
    this.tookMs = 0;
    this.isPlanned = false;
  };

  /** Flushes some connections of the next app, which then goes to the end of the queue. */
  private flushSome(): void {
    for (const [app, ofApp] of this.waiting) {
      this.waiting.delete(app);
      let flushed = 0;
      for (const connection of ofApp) {
        ofApp.delete(connection);
        this.options.flush(connection);
        flushed++;
        if (flushed === FLUSHED_AT_ONCE) break;
      }
      if (ofApp.size > 0) this.waiting.set(app, ofApp);
      return;
    }
  }
}
