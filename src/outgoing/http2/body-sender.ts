import type { Exchange } from './exchange.ts';
import type { FrameWriter } from './frames/frame-writer.ts';
import {
  ERROR,
  FLAG,
  FRAME_BYTES_MAX,
  ProtocolFault,
  WINDOW_BYTES,
  WINDOW_BYTES_MAX,
} from './frames/protocol.ts';

/** Sends the bodies of one connection's requests, as far as the peer's flow control allows. Source: RFC 9113, 5.2. */
export class BodySender {
  /** Window with which each new stream begins. */
  streamWindow = WINDOW_BYTES;
  private readonly writer: FrameWriter;
  private connectionWindow = WINDOW_BYTES;
  private frameBytesMax = FRAME_BYTES_MAX;
  /** By stream id: requests whose body waits for a window. */
  private readonly stalled = new Map<number, Exchange>();

  constructor(writer: FrameWriter) {
    this.writer = writer;
  }

  get isStalled(): boolean {
    return this.stalled.size > 0;
  }

  /** Sends as much of a body as the windows allow; the rest follows when they grow. The caller plans a flush. */
  send(id: number, exchange: Exchange): void {
    const { body } = exchange.request;
    while (!exchange.isSent) {
      const left = body.length - exchange.sentBytes;
      const bytes = Math.min(left, this.connectionWindow, exchange.sendWindow, this.frameBytesMax);
      if (bytes <= 0) {
        this.stalled.set(id, exchange);
        return;
      }
      const flags = bytes === left ? FLAG.endStream : 0;
      const start = exchange.sentBytes;
      this.writer.data(id, flags, body, start, start + bytes);
      exchange.sentBytes += bytes;
      exchange.sendWindow -= bytes;
      this.connectionWindow -= bytes;
    }
    this.stalled.delete(id);
  }

  forget(id: number): void {
    this.stalled.delete(id);
  }

  /** Resumes stalled bodies. Returns whether there were any. */
  resume(): boolean {
    if (this.stalled.size === 0) return false;
    for (const [id, exchange] of this.stalled) this.send(id, exchange);
    this.writer.planFlush();
    return true;
  }

  growConnectionWindow(increment: number): void {
    this.connectionWindow += increment;
    if (increment === 0 || this.connectionWindow > WINDOW_BYTES_MAX) {
      throw new ProtocolFault(ERROR.flowControlError, 'impossible window');
    }
  }

  /** Returns `false` if the window would be impossible. */
  growStreamWindow(exchange: Exchange, increment: number): boolean {
    exchange.sendWindow += increment;
    return increment > 0 && exchange.sendWindow <= WINDOW_BYTES_MAX;
  }

  /** The peer changed the initial window, also for streams that are open. */
  setStreamWindow(bytes: number, exchanges: Iterable<Exchange>): void {
    if (bytes > WINDOW_BYTES_MAX) {
      throw new ProtocolFault(ERROR.flowControlError, 'initial window too large');
    }
    for (const exchange of exchanges) exchange.sendWindow += bytes - this.streamWindow;
    this.streamWindow = bytes;
  }

  setFrameBytesMax(bytes: number): void {
    if (bytes < FRAME_BYTES_MAX || bytes > 0xff_ffff) {
      throw new ProtocolFault(ERROR.protocolError, 'impossible frame size');
    }
    this.frameBytesMax = bytes;
  }
}
