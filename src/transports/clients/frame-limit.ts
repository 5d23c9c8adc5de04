import type { App } from '../../channels/app.ts';
import type { Connection } from './connection.ts';

/** A frame counts once, and once more for each of these that it fills. Bytes. */
const COUNTED_BYTES = 4096;

/** How many seconds' worth of frames a connection may send at once. */
const BURST_SECONDS = 10;

/** What becomes of a frame: it is answered, dropped and the client warned, only dropped, or its connection closed. */
export type FrameVerdict = 'answer' | 'warn' | 'drop' | 'close';

/**
 * How many frames of all kinds one connection may send: a token bucket, kept as a debt that each frame adds to and
 * each second pays off. Above the burst, frames are dropped; a client that goes on until the debt is twice
 * the burst is closed. Counting costs an addition and a comparison, and reads no clock.
 */
export class FrameLimit {
  private readonly framesPerSecond: number;
  /** Those that were told that they send too many. Not a field of each: they are few. */
  private readonly warned = new WeakSet<Connection>();

  /** `framesPerSecond`: without the client events that an app allows on top; 0: no limit. */
  constructor(framesPerSecond: number) {
    this.framesPerSecond = framesPerSecond;
  }

  /** Counts one frame, data or control. `bytes` is the length of its payload. */
  count(connection: Connection, bytes: number): FrameVerdict {
    const perSecond = this.rateOf(connection.app);
    if (perSecond === 0) return 'answer';
    connection.frameDebt += 1 + Math.floor(bytes / COUNTED_BYTES);
    const burst = burstOf(connection.app, perSecond);
    if (connection.frameDebt <= burst) return 'answer';
    if (connection.frameDebt > 2 * burst) return 'close';
    if (this.warned.has(connection)) return 'drop';
    this.warned.add(connection);
    return 'warn';
  }

  /** Pays off what a connection may send in these seconds; gives how many frames that were. */
  pay(connection: Connection, seconds: number): number {
    const { app, frameDebt } = connection;
    if (frameDebt === 0) return 0;
    connection.frameDebt = Math.max(0, Math.floor(frameDebt - seconds * this.rateOf(app)));
    if (connection.frameDebt === 0) this.warned.delete(connection);
    return frameDebt - connection.frameDebt;
  }

  /** Whether a connection has sent more than its rate allows, and has not waited long enough since. */
  isBehind({ app, frameDebt }: Connection): boolean {
    return frameDebt > this.rateOf(app);
  }

  /** 0: no limit, also where an app limits its client events by nothing. */
  private rateOf({ clientEvents, limits: { clientEventsPerSecond } }: App): number {
    if (this.framesPerSecond === 0) return 0;
    if (!clientEvents) return this.framesPerSecond;
    return clientEventsPerSecond === 0 ? 0 : this.framesPerSecond + clientEventsPerSecond;
  }
}

/** A client that reconnects subscribes to all of its channels at once. */
function burstOf({ limits: { channelsPerConnection } }: App, perSecond: number): number {
  return Math.max(BURST_SECONDS * perSecond, 2 * channelsPerConnection);
}
