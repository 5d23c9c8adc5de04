import {
  ERROR,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  ProtocolFault,
  STREAM_ID_MAX,
} from './protocol.ts';

const NO_PREFACE = Buffer.alloc(0);

/** One frame. Its payload is only valid until the call returns. */
export type OnFrame = (type: number, flags: number, streamId: number, payload: Buffer) => void;

/** Splits the received bytes into frames. */
export class FrameReader {
  private readonly onFrame: OnFrame;
  private rest: Buffer | undefined;
  /** The bytes of the preface that are still to come. */
  private preface: Buffer;

  /** `preface`: what must come before the first frame. A server expects one, a client does not. */
  constructor(onFrame: OnFrame, preface: Buffer = NO_PREFACE) {
    this.onFrame = onFrame;
    this.preface = preface;
  }

  /** Reports each complete frame. Throws a `ProtocolFault` for a wrong preface or a frame that is too large. */
  read(chunk: Buffer): void {
    const bytes = this.rest === undefined ? chunk : Buffer.concat([this.rest, chunk]);
    this.rest = undefined;
    let at = this.preface.length === 0 ? 0 : this.readPreface(bytes);
    while (bytes.length - at >= FRAME_HEADER_BYTES) {
      const word = bytes.readUInt32BE(at);
      const length = word >>> 8;
      if (length > FRAME_BYTES_MAX) {
        throw new ProtocolFault(ERROR.frameSizeError, 'frame too large');
      }
      const start = at + FRAME_HEADER_BYTES;
      const end = start + length;
      if (end > bytes.length) break;
      const flags = bytes[at + 4] ?? 0;
      const streamId = bytes.readUInt32BE(at + 5) & STREAM_ID_MAX;
      this.onFrame(word & 0xff, flags, streamId, bytes.subarray(start, end));
      at = end;
    }
    // Copied: the caller may reuse the chunk's memory.
    if (at < bytes.length) this.rest = Buffer.from(bytes.subarray(at));
  }

  /** Returns the position after the preface, or after the part of it that has come. */
  private readPreface(bytes: Buffer): number {
    const part = bytes.subarray(0, this.preface.length);
    if (!this.preface.subarray(0, part.length).equals(part)) {
      throw new ProtocolFault(ERROR.protocolError, 'not the preface of HTTP/2');
    }
    this.preface = this.preface.subarray(part.length);
    return part.length;
  }
}
