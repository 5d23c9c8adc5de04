import type { App } from '../../../channels/app.ts';
import type { ClientConnection } from '../connection.ts';

/** A frame counts once, and once more for each 4 KiB. */
const COUNTED_BYTES = 4096;

/** The burst, in seconds' worth of frames. */
const BURST_SECONDS = 10;

/** What to do with a frame: answer it, drop it and warn the client, drop it, or close the connection. */
export type FrameVerdict = 'answer' | 'warn' | 'drop' | 'close';

/**
 * Limits the frames of each connection: a token bucket, kept as a debt that each frame adds to and each second pays off.
 * Above the burst frames are dropped; at twice the burst the connection is closed. Counting a frame reads no clock.
 */
export class FrameLimit {
  private readonly framesPerSecond: number;
  /** Connections that were warned. Not a field, because they are few. */
  private readonly warned = new WeakSet<ClientConnection>();

  /** `framesPerSecond`: client events that an app allows come on top; 0: no limit. */
  constructor(framesPerSecond: number) {
    this.framesPerSecond = framesPerSecond;
  }

  /** Counts one frame, data or control. `bytes` is the length of its payload. */
  count(connection: ClientConnection, bytes: number): FrameVerdict {
    const perSecond = this.rateOf(connection.app);
    if (perSecond === 0) return 'answer';
    connection.frameDebt += 1 + Math.floor(bytes / COUNTED_BYTES);
    const burst = this.burstOf(connection.app);
    if (connection.frameDebt <= burst) return 'answer';
    if (connection.frameDebt > 2 * burst) return 'close';
    if (this.warned.has(connection)) return 'drop';
    this.warned.add(connection);
    return 'warn';
  }

  /** Pays off what a connection may send in some seconds; returns how many frames that were. */
  pay(connection: ClientConnection, seconds: number): number {
    const { app, frameDebt } = connection;
    if (frameDebt === 0) return 0;
    connection.frameDebt = Math.max(0, Math.floor(frameDebt - seconds * this.rateOf(app)));
    if (connection.frameDebt === 0) this.warned.delete(connection);
    return frameDebt - connection.frameDebt;
  }

  /** Whether a connection owes so much that its next frame closes it: frames that waited may have cost more than one each. */
  isOver({ app, frameDebt }: ClientConnection): boolean {
    return frameDebt > 2 * this.burstOf(app) && this.rateOf(app) > 0;
  }

  /** Whether a connection still owes more than a second's worth of frames. */
  isBehind({ app, frameDebt }: ClientConnection): boolean {
    return frameDebt > this.rateOf(app);
  }

  /** Frames per second. 0: no limit, also if the app does not limit its client events. */
  rateOf({ clientEvents, limits: { clientEventsPerSecond } }: App): number {
    if (this.framesPerSecond === 0) return 0;
    if (!clientEvents) return this.framesPerSecond;
    return clientEventsPerSecond === 0 ? 0 : this.framesPerSecond + clientEventsPerSecond;
  }

  /** A client that reconnects subscribes to all of its channels at once. */
  burstOf(app: App): number {
    return Math.max(BURST_SECONDS * this.rateOf(app), 2 * app.limits.channelsPerConnection);
  }
}
