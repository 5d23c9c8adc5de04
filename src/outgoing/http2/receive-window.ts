import type { FrameWriter } from './frames/frame-writer.ts';
import { WINDOW_BYTES } from './frames/protocol.ts';

/** Flow control for what we receive: the peer may send `bytes` on all streams together before we have read them. */
export class ReceiveWindow {
  private readonly writer: FrameWriter;
  private readonly bytes: number;
  private received = 0;

  constructor(writer: FrameWriter, bytes: number) {
    this.writer = writer;
    this.bytes = bytes;
  }

  /** Opens the window beyond the initial one. */
  announce(): void {
    this.writer.windowUpdate(0, this.bytes - WINDOW_BYTES);
  }

  onReceived(bytes: number): void {
    this.received += bytes;
    if (this.received < this.bytes / 2) return;
    this.writer.windowUpdate(0, this.received);
    this.received = 0;
  }
}
