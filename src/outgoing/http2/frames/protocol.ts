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
