import type { App } from '../../channels/app.ts';
import { FairBudget } from '../../runtime/fair-budget.ts';
import type { Connection } from './connection.ts';

/** How long frames are answered in one turn of the loop. Milliseconds. */
const TURN_MS = 4;

/** Frames that one connection is answered before it is the next one's turn. */
const FRAMES_AT_ONCE = 8;

/** What a frame that waits takes beside its text. Bytes. */
const FRAME_BYTES = 64;

/** What waits in all. Bytes, about. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

/** Connections that are compared when one must be given up. */
const LOOKED_MAX = 100;

/** What a client has sent; `null` in the place of the first frame that was too many. */
export type Frame = string | null;

export interface FrameQueueOptions {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Runs something when all that has arrived in this turn of the loop was looked at. */
  readonly afterTurn: (run: () => void) => void;
  readonly answer: (connection: Connection, frame: Frame) => void;
  /** Ends a connection: its app has most frames waiting, and there is no room for more. */
  readonly giveUp: (connection: Connection) => void;
  readonly waitingBytesMax?: number;
}

/** The frames of one connection that wait. */
interface Waiting {
  readonly frames: Frame[];
  bytes: number;
}

/**
 * Answers frames for a few milliseconds in each turn of the loop. The others wait for later turns, in which it is one
 * app's turn after the other, and in an app one connection's.
 *
 * Bun reads what a new connection has sent inside the loop in which it accepts connections, and goes on accepting while
 * there are any. Clients that send all of their frames with the handshake, one after the other, would keep it there,
 * and nobody else would be heard.
 */
export class FrameQueue {
  private readonly options: FrameQueueOptions;
  private readonly waitingBytes: FairBudget<App>;
  /** In the order in which it is their turn. */
  private readonly byApp = new Map<App, Map<Connection, Waiting>>();
  /** When frames were first answered in this turn; `undefined` where none were. */
  private startedAtMs: number | undefined;
  private isPlanned = false;

  constructor(options: FrameQueueOptions) {
    this.options = options;
    this.waitingBytes = new FairBudget(options.waitingBytesMax ?? WAITING_BYTES_MAX);
  }

  /** Answers a frame that has arrived just now, or lets it wait. `nowMs`: monotonic. */
  arrived(connection: Connection, frame: Frame, nowMs: number): void {
    this.startedAtMs ??= nowMs;
    this.plan();
    const hasTime = nowMs - this.startedAtMs < TURN_MS;
    // The order of one connection's frames is kept.
    if (hasTime && !this.isWaiting(connection)) this.options.answer(connection, frame);
    else this.wait(connection, frame);
  }

  /** The connection has ended: nobody reads answers to what it has sent. */
  forget(connection: Connection): void {
    const { app } = connection;
    const ofApp = this.byApp.get(app);
    const waiting = ofApp?.get(connection);
    if (ofApp === undefined || waiting === undefined) return;
    ofApp.delete(connection);
    if (ofApp.size === 0) this.byApp.delete(app);
    this.waitingBytes.release(app, waiting.bytes);
  }

  private isWaiting(connection: Connection): boolean {
    return this.byApp.size > 0 && this.byApp.get(connection.app)?.has(connection) === true;
  }

  private wait(connection: Connection, frame: Frame): void {
    const { app } = connection;
    const bytes = bytesOf(frame);
    for (;;) {
      const yielding = this.waitingBytes.whoYields(app, bytes);
      if (yielding === undefined) break;
      const largest = this.largestOf(yielding) ?? connection;
      this.forget(largest);
      this.options.giveUp(largest);
      if (largest === connection) return;
    }
    let ofApp = this.byApp.get(app);
    if (ofApp === undefined) {
      ofApp = new Map();
      this.byApp.set(app, ofApp);
    }
    let waiting = ofApp.get(connection);
    if (waiting === undefined) {
      waiting = { frames: [], bytes: 0 };
      ofApp.set(connection, waiting);
    }
    waiting.frames.push(frame);
    waiting.bytes += bytes;
    this.waitingBytes.add(app, bytes);
  }

  /** The one of which most waits, of some. */
  private largestOf(app: App): Connection | undefined {
    let largest: Connection | undefined;
    let most = 0;
    let looked = 0;
    for (const [connection, { bytes }] of this.byApp.get(app) ?? []) {
      if (bytes > most) [largest, most] = [connection, bytes];
      looked++;
      if (looked === LOOKED_MAX) break;
    }
    return largest;
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.options.afterTurn(this.endTurn);
  }

  /** What waits is answered for as long as a turn may take; what arrives next has a turn of its own. */
  private readonly endTurn = (): void => {
    this.isPlanned = false;
    this.startedAtMs = undefined;
    if (this.byApp.size === 0) return;
    const { now } = this.options;
    const endMs = now() + TURN_MS;
    do this.answerSome();
    while (this.byApp.size > 0 && now() < endMs);
    if (this.byApp.size > 0) this.plan();
  };

  /** Answers some frames of the connection whose turn it is. */
  private answerSome(): void {
    for (const [app, ofApp] of this.byApp) {
      for (const [connection, waiting] of ofApp) {
        // To the end of both lines.
        this.byApp.delete(app);
        this.byApp.set(app, ofApp);
        ofApp.delete(connection);
        ofApp.set(connection, waiting);
        return this.answerOne(connection, waiting, ofApp);
      }
    }
  }

  private answerOne(
    connection: Connection,
    waiting: Waiting,
    ofApp: ReadonlyMap<Connection, Waiting>,
  ): void {
    for (const frame of waiting.frames.splice(0, FRAMES_AT_ONCE)) {
      const bytes = bytesOf(frame);
      waiting.bytes -= bytes;
      this.waitingBytes.release(connection.app, bytes);
      this.options.answer(connection, frame);
      // The answer was its end.
      if (ofApp.get(connection) !== waiting) return;
    }
    if (waiting.frames.length === 0) this.forget(connection);
  }
}

function bytesOf(frame: Frame): number {
  return FRAME_BYTES + (frame?.length ?? 0);
}
