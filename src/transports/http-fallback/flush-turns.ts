import type { App } from '../../channels/app.ts';
import type { FallbackConnection } from './fallback-connection.ts';

/** How long connections are flushed in one turn of the loop. Milliseconds. */
const TURN_MS = 4;

/** Connections that are flushed before the clock is read, and before the next app's. */
const FLUSHED_AT_ONCE = 8;

export interface FlushTurnsOptions {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Runs something once the loop has handled everything that arrived in this turn. */
  readonly afterTurn: (run: () => void) => void;
  readonly flush: (connection: FallbackConnection) => void;
}

/**
 * Flushes each connection with new messages once per turn of the loop, so that all messages of one turn share a line. Every
 * connection costs JavaScript, so a turn takes a few milliseconds of them, one app after the other, and leaves the others
 * to later turns: WebSockets of a busy channel do not wait for them.
 */
export class FlushTurns {
  private readonly options: FlushTurnsOptions;
  /** By app; the first in order is next. */
  private readonly waiting = new Map<App, Set<FallbackConnection>>();
  private isPlanned = false;

  constructor(options: FlushTurnsOptions) {
    this.options = options;
  }

  add(connection: FallbackConnection): void {
    const { app } = connection;
    const ofApp = this.waiting.get(app);
    if (ofApp === undefined) this.waiting.set(app, new Set([connection]));
    else ofApp.add(connection);
    this.plan();
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.options.afterTurn(this.run);
  }

  private readonly run = (): void => {
    this.isPlanned = false;
    const { now } = this.options;
    const endMs = now() + TURN_MS;
    do this.flushSome();
    while (this.waiting.size > 0 && now() < endMs);
    if (this.waiting.size > 0) this.plan();
  };

  /** Flushes some connections of the next app, which then goes to the end of the line. */
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
