import type { App } from '../../../channels/app.ts';
import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import { FairBudget } from '../../../runtime/fairness/fair-budget.ts';
import type { ClientConnection } from '../connection.ts';

/** How long frames are answered in one turn of the loop. Milliseconds. */
const TURN_MS = 4;

/** Frames of one connection that are answered before the next connection's. */
const FRAMES_AT_ONCE = 8;

/** After this time, an answer is late. Milliseconds. */
const LATE_MS = 1000;

/** Memory of a queued frame in addition to its text. Bytes. */
const FRAME_BYTES = 64;

/** The limit for all queued frames together, with plenty of memory. Bytes, roughly. */
export const FRAME_BYTES_MAX = 64 * 1024 * 1024;

/** Connections that are compared when one must be given up. */
const LOOKED_MAX = 100;

/** The text of a frame; `null` marks the first frame over the limit, which is answered with a warning. */
export type FrameText = string | null;

export interface FrameQueueOptions {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Runs something once the loop has handled everything that arrived in this turn. */
  readonly afterTurn: (run: () => void) => void;
  /** Must not fail. The connection's next frame is not answered before a promise has settled. */
  readonly answer: (connection: ClientConnection, frame: FrameText) => MaybePromise<void>;
  /** Closes a connection, because its app has the most frames queued and there is no room for more. */
  readonly giveUp: (connection: ClientConnection) => void;
  readonly queuedBytesMax?: number | undefined;
  /** Whether this turn has published enough. Frames then wait for the next one. */
  readonly isFull?: (() => boolean) | undefined;
}

/** The queued frames of one connection. */
interface Queued {
  frames: FrameText[];
  bytes: number;
  /** Since when an engine has not answered. Monotonic milliseconds. */
  blockedAtMs: number;
}

/** By app, then by connection; the first in order is next. */
type QueuedByApp = Map<App, Map<ClientConnection, Queued>>;

/**
 * Answers frames for a few milliseconds in each turn of the loop, and queues the others for later turns. The queue is
 * fair: apps take turns, and so do the connections of an app. Frames of one connection keep their order, even while
 * an engine has not answered one of them.
 *
 * Without this queue, clients that send all of their frames with the handshake could block the loop: while Bun
 * accepts connections, it also reads what they have sent, and continues as long as there are more.
 */
export class FrameQueue {
  private readonly options: FrameQueueOptions;
  private readonly queuedBytes: FairBudget<App>;
  private readonly ready: QueuedByApp = new Map();
  /** Connections whose last frame an engine has not answered yet, with the frames behind it. */
  private readonly blocked: QueuedByApp = new Map();
  /** When the first frame of this turn was answered; `undefined`: no frame yet. */
  private startedAtMs: number | undefined;
  private isPlanned = false;

  constructor(options: FrameQueueOptions) {
    this.options = options;
    this.queuedBytes = new FairBudget(options.queuedBytesMax ?? FRAME_BYTES_MAX);
  }

  /** Answers a frame that has just arrived, or queues it. `nowMs`: monotonic. */
  arrived(connection: ClientConnection, frame: FrameText, nowMs: number): void {
    this.startedAtMs ??= nowMs;
    this.plan();
    const queued = this.queuedOf(connection);
    const hasTime = nowMs - this.startedAtMs < TURN_MS && this.options.isFull?.() !== true;
    if (queued === undefined && hasTime) this.answer(connection, frame);
    else this.enqueue(connection, frame, queued);
  }

  /**
   * Takes the frames that fit out of the queue of a connection, if an engine has not answered its last frame for a second.
   * Returns how many.
   */
  takeLate(connection: ClientConnection, fits: (frame: string) => boolean): number {
    if (this.blocked.size === 0) return 0;
    const queued = this.blocked.get(connection.app)?.get(connection);
    if (queued === undefined || this.options.now() - queued.blockedAtMs < LATE_MS) return 0;
    const kept: FrameText[] = [];
    let bytes = 0;
    for (const frame of queued.frames) {
      if (frame !== null && fits(frame)) bytes += bytesOf(frame);
      else kept.push(frame);
    }
    const taken = queued.frames.length - kept.length;
    if (taken === 0) return 0;
    queued.frames = kept;
    queued.bytes -= bytes;
    this.queuedBytes.release(connection.app, bytes);
    return taken;
  }

  /** Drops the queued frames of a connection that has ended. */
  forget(connection: ClientConnection): void {
    const queued = take(this.ready, connection) ?? take(this.blocked, connection);
    if (queued !== undefined) this.queuedBytes.release(connection.app, queued.bytes);
  }

  private queuedOf(connection: ClientConnection): Queued | undefined {
    if (this.ready.size === 0 && this.blocked.size === 0) return undefined;
    const { app } = connection;
    return this.ready.get(app)?.get(connection) ?? this.blocked.get(app)?.get(connection);
  }

  /** Returns whether the answer is complete. If not, the connection is blocked until it is. */
  private answer(connection: ClientConnection, frame: FrameText, queued?: Queued): boolean {
    const answered = this.options.answer(connection, frame);
    if (!(answered instanceof Promise)) return true;
    // The answer may have ended the connection already.
    if (connection.closed) return true;
    this.block(connection, answered, queued ?? { frames: [], bytes: 0, blockedAtMs: 0 });
    return false;
  }

  private block(connection: ClientConnection, answered: Promise<void>, queued: Queued): void {
    take(this.ready, connection);
    queued.blockedAtMs = this.options.now();
    put(this.blocked, connection, queued);
    void answered.then(() => {
      if (this.blocked.get(connection.app)?.get(connection) !== queued) return;
      take(this.blocked, connection);
      if (queued.frames.length === 0) return;
      put(this.ready, connection, queued);
      this.plan();
    });
  }

  private enqueue(
    connection: ClientConnection,
    frame: FrameText,
    queuedBefore: Queued | undefined,
  ): void {
    const { app } = connection;
    const bytes = bytesOf(frame);
    for (;;) {
      const yielding = this.queuedBytes.ownerToEvict(app, bytes);
      if (yielding === undefined) break;
      const largest = this.largestOf(yielding) ?? connection;
      this.forget(largest);
      this.options.giveUp(largest);
      if (largest === connection) return;
    }
    const queued = queuedBefore ?? { frames: [], bytes: 0, blockedAtMs: 0 };
    if (queuedBefore === undefined) put(this.ready, connection, queued);
    queued.frames.push(frame);
    queued.bytes += bytes;
    this.queuedBytes.add(app, bytes);
  }

  /** The connection with the most queued bytes, among the first hundred of an app. */
  private largestOf(app: App): ClientConnection | undefined {
    let largest: ClientConnection | undefined;
    let largestBytes = 0;
    for (const queues of [this.ready.get(app), this.blocked.get(app)]) {
      let looked = 0;
      for (const [connection, { bytes }] of queues ?? []) {
        if (bytes > largestBytes) [largest, largestBytes] = [connection, bytes];
        looked++;
        if (looked === LOOKED_MAX) break;
      }
    }
    return largest;
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    this.options.afterTurn(this.endTurn);
  }

  private readonly endTurn = (): void => {
    this.isPlanned = false;
    this.startedAtMs = undefined;
    if (this.ready.size === 0) return;
    const { now } = this.options;
    const endMs = now() + TURN_MS;
    while (this.ready.size > 0 && now() < endMs && this.options.isFull?.() !== true) {
      this.answerNext();
    }
    if (this.ready.size > 0) this.plan();
  };

  /** Answers some frames of the next connection of the next app. */
  private answerNext(): void {
    for (const [app, ofApp] of this.ready) {
      for (const [connection, queued] of ofApp) {
        // Both go to the end of the queue.
        this.ready.delete(app);
        this.ready.set(app, ofApp);
        ofApp.delete(connection);
        ofApp.set(connection, queued);
        return this.answerSome(connection, queued);
      }
    }
  }

  private answerSome(connection: ClientConnection, queued: Queued): void {
    const frames = queued.frames.splice(0, FRAMES_AT_ONCE);
    for (const [index, frame] of frames.entries()) {
      const bytes = bytesOf(frame);
      queued.bytes -= bytes;
      this.queuedBytes.release(connection.app, bytes);
      if (!this.answer(connection, frame, queued)) {
        queued.frames.unshift(...frames.slice(index + 1));
        return;
      }
      // The answer ended the connection.
      if (this.ready.get(connection.app)?.get(connection) !== queued) return;
    }
    if (queued.frames.length === 0) this.forget(connection);
  }
}

function put(queues: QueuedByApp, connection: ClientConnection, queued: Queued): void {
  const { app } = connection;
  const ofApp = queues.get(app);
  if (ofApp === undefined) queues.set(app, new Map([[connection, queued]]));
  else ofApp.set(connection, queued);
}

function take(queues: QueuedByApp, connection: ClientConnection): Queued | undefined {
  const { app } = connection;
  const ofApp = queues.get(app);
  const queued = ofApp?.get(connection);
  if (ofApp === undefined || queued === undefined) return undefined;
  ofApp.delete(connection);
  if (ofApp.size === 0) queues.delete(app);
  return queued;
}

function bytesOf(frame: FrameText): number {
  return FRAME_BYTES + (frame?.length ?? 0);
}
