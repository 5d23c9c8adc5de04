/** Frame types. Source: RFC 9113, 6. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags. The meaning of a bit depends on the frame type. Source: RFC 9113, 6. */
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

/** Settings. Source: RFC 9113, 6.5.2. */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Error codes. Source: RFC 9113, 7. */
export const ERROR = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

/** The first bytes that a client sends. Source: RFC 9113, 3.4. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

const NO_PREFACE = Buffer.alloc(0);

export const FRAME_HEADER_BYTES = 9;

/** One setting in a SETTINGS frame. */
export const SETTING_BYTES = 6;

/** The frame size that every peer must accept. Source: RFC 9113, 6.5.2. */
export const FRAME_BYTES_MAX = 16 * 1024;

/** The initial flow-control window. Source: RFC 9113, 6.5.2 and 6.9.2. */
export const WINDOW_BYTES = 65_535;

export const WINDOW_BYTES_MAX = 2 ** 31 - 1;

/** Stream ids have 31 bits. Source: RFC 9113, 5.1.1. */
export const STREAM_ID_MAX = 2 ** 31 - 1;

/** The peer broke the protocol; nothing more that it sends can be read. */
export class ProtocolFault extends Error {
  override readonly name = 'ProtocolFault';
  readonly code: number;

  /** `code` is one of `ERROR`. */
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** One frame. Its payload is `bytes` from `start` to `end`, and only valid until the call returns. */
export type OnFrame = (
  type: number,
  flags: number,
  streamId: number,
  bytes: Buffer,
  start: number,
  end: number,
) => void;

/** Cuts what a peer sends into frames. */
export class FrameReader {
  private readonly onFrame: OnFrame;
  private rest: Buffer | undefined;
  /** The bytes of the preface that are still to come. */
  private preface: Buffer;

  /** Servers give the `preface` that must come before the first frame. */
  constructor(onFrame: OnFrame, preface: Buffer = NO_PREFACE) {
    this.onFrame = onFrame;
    this.preface = preface;
  }

  /** Hands on the frames that are complete. Throws a `ProtocolFault` for a wrong preface and a frame that is too large. */
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
      this.onFrame(word & 0xff, flags, streamId, bytes, start, end);
      at = end;
    }
    // Copied: the caller may reuse the chunk's memory.
    if (at < bytes.length) this.rest = Buffer.from(bytes.subarray(at));
  }

  /** Gives the position after the preface, or after the part of it that has come. */
  private readPreface(bytes: Buffer): number {
    const part = bytes.subarray(0, this.preface.length);
    if (!this.preface.subarray(0, part.length).equals(part)) {
      throw new ProtocolFault(ERROR.protocolError, 'not the preface of HTTP/2');
    }
    this.preface = this.preface.subarray(part.length);
    return part.length;
  }
}
