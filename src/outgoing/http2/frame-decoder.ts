import { FrameReader } from './frames/frame-reader.ts';
import {
  ERROR,
  FLAG,
  FRAME,
  ProtocolFault,
  SETTING_BYTES,
  STREAM_ID_MAX,
} from './frames/protocol.ts';
import { HeaderDecoder } from './hpack/header-decoder.ts';

/** What a peer sends. Buffers are only valid until the call returns. */
export interface FrameListener {
  /** A whole header block: names, each followed by its value. */
  onHeaders(streamId: number, fields: readonly string[], isLast: boolean): void;
  /** Part of a body. `windowBytes` count against flow control: they include padding. */
  onData(streamId: number, part: Buffer, isLast: boolean, windowBytes: number): void;
  onReset(streamId: number, code: number): void;
  onSetting(name: number, value: number): void;
  /** All settings of one frame were reported. */
  onSettingsEnd(): void;
  onPing(payload: Buffer): void;
  onGoAway(lastStreamId: number, code: number, debugData: string): void;
  /** Stream 0: the window of the connection. */
  onWindowUpdate(streamId: number, increment: number): void;
}

/** The bytes of one header block, over all its frames. */
const HEADER_BLOCK_BYTES_MAX = 32 * 1024;

/** A priority, which is deprecated, at the start of a HEADERS frame. Source: RFC 9113, 6.2. */
const PRIORITY_BYTES = 5;

export interface FrameDecoderOptions {
  /** What the peer must send first. A server expects one, a client does not. */
  readonly preface?: Buffer;
  /** The limit of work that the peer may cause before `progressed`. One frame counts as one. */
  readonly workMax?: number;
}

/** A frame counts once more for each KiB, and a setting as much as a frame: it may concern every stream. */
const WORK_BYTES = 1024;

/**
 * Decodes the peer's frames, checks each, and reports it to the listener. Source: RFC 9113, 6.
 *
 * The listener must check whether a stream exists.
 */
export class FrameDecoder {
  private readonly listener: FrameListener;
  private readonly headers = new HeaderDecoder();
  private readonly frames: FrameReader;
  private readonly workMax: number;
  /** Since the last progress. */
  private work = 0;
  private isFirst = true;
  private isStopped = false;
  /** A header block that is continued in further frames. */
  private block:
    | { readonly id: number; readonly flags: number; readonly parts: Buffer[]; bytes: number }
    | undefined;

  constructor(
    listener: FrameListener,
    { preface, workMax = Number.POSITIVE_INFINITY }: FrameDecoderOptions = {},
  ) {
    this.listener = listener;
    this.workMax = workMax;
    this.frames = new FrameReader(
      (type, flags, id, payload) => this.onFrame(type, flags, id, payload),
      preface,
    );
  }

  /** Throws a `ProtocolFault`, after which nothing more can be read. */
  read(bytes: Buffer): void {
    this.frames.read(bytes);
  }

  /** The peer has done what it is there for: what it sent before no longer counts. */
  progressed(): void {
    this.work = 0;
  }

  /** Ignores all further frames. */
  stop(): void {
    this.isStopped = true;
  }

  private onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    if (this.isStopped) return;
    this.work += 1 + payload.length / (type === FRAME.settings ? SETTING_BYTES : WORK_BYTES);
    if (this.work > this.workMax) {
      throw new ProtocolFault(ERROR.enhanceYourCalm, 'too many frames without an answer');
    }
    if (this.isFirst) {
      this.isFirst = false;
      check(type === FRAME.settings && (flags & FLAG.ack) === 0, 'first frame is not SETTINGS');
    }
    if (this.block !== undefined) {
      check(type === FRAME.continuation && id === this.block.id, 'header block not continued');
    }
    switch (type) {
      case FRAME.data: {
        const isLast = (flags & FLAG.endStream) !== 0;
        return this.listener.onData(id, unpadded(flags, payload), isLast, payload.length);
      }
      case FRAME.headers:
        return this.onHeaders(id, flags, payload);
      case FRAME.continuation:
        return this.onContinuation(flags, payload);
      case FRAME.reset:
        checkLength(payload, 4);
        return this.listener.onReset(id, payload.readUInt32BE());
      case FRAME.settings:
        return this.onSettings(id, flags, payload);
      case FRAME.ping:
        checkLength(payload, 8);
        check(id === 0, 'PING on a stream');
        if ((flags & FLAG.ack) === 0) this.listener.onPing(payload);
        return;
      case FRAME.goAway:
        if (id !== 0 || payload.length < 8) {
          throw new ProtocolFault(ERROR.frameSizeError, 'malformed GOAWAY');
        }
        return this.listener.onGoAway(
          payload.readUInt32BE() & STREAM_ID_MAX,
          payload.readUInt32BE(4),
          payload.toString('utf8', 8),
        );
      case FRAME.windowUpdate:
        checkLength(payload, 4);
        return this.listener.onWindowUpdate(id, payload.readUInt32BE() & STREAM_ID_MAX);
      case FRAME.pushPromise:
        throw new ProtocolFault(ERROR.protocolError, 'PUSH_PROMISE was not allowed');
      default:
        // PRIORITY is deprecated, and unknown types must be ignored (RFC 9113, 4.1).
        return;
    }
  }

  private onHeaders(id: number, flags: number, payload: Buffer): void {
    let part = unpadded(flags, payload);
    if ((flags & FLAG.priority) !== 0) {
      check(part.length >= PRIORITY_BYTES, 'more padding than payload');
      part = part.subarray(PRIORITY_BYTES);
    }
    if ((flags & FLAG.endHeaders) !== 0) return this.onBlock(id, flags, part);
    this.block = { id, flags, parts: [Buffer.from(part)], bytes: part.length };
  }

  private onContinuation(flags: number, part: Buffer): void {
    const { block } = this;
    if (block === undefined) {
      throw new ProtocolFault(ERROR.protocolError, 'CONTINUATION without HEADERS');
    }
    block.bytes += part.length;
    // Counting the parts bounds empty frames, too.
    if (block.bytes + block.parts.length > HEADER_BLOCK_BYTES_MAX) {
      throw new ProtocolFault(ERROR.enhanceYourCalm, 'header block too large');
    }
    block.parts.push(Buffer.from(part));
    if ((flags & FLAG.endHeaders) === 0) return;
    this.block = undefined;
    this.onBlock(block.id, block.flags, Buffer.concat(block.parts));
  }

  private onBlock(id: number, flags: number, block: Buffer): void {
    // Every block must be decoded: it changes the table that the next one refers to.
    const fields = this.headers.read(block);
    this.listener.onHeaders(id, fields, (flags & FLAG.endStream) !== 0);
  }

  private onSettings(id: number, flags: number, payload: Buffer): void {
    check(id === 0, 'SETTINGS on a stream');
    if ((flags & FLAG.ack) !== 0) return;
    if (payload.length % SETTING_BYTES !== 0) {
      throw new ProtocolFault(ERROR.frameSizeError, 'SETTINGS frame of a wrong size');
    }
    for (let at = 0; at < payload.length; at += SETTING_BYTES) {
      this.listener.onSetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
    this.listener.onSettingsEnd();
  }
}

/** The payload without its padding. Source: RFC 9113, 6.1. */
function unpadded(flags: number, payload: Buffer): Buffer {
  if ((flags & FLAG.padded) === 0) return payload;
  const end = payload.length - (payload[0] ?? 0);
  check(end >= 1, 'more padding than payload');
  return payload.subarray(1, end);
}

function check(isRight: boolean, fault: string): void {
  if (!isRight) throw new ProtocolFault(ERROR.protocolError, fault);
}

function checkLength({ length }: Buffer, expected: number): void {
  if (length !== expected) throw new ProtocolFault(ERROR.frameSizeError, 'frame of a wrong size');
}
