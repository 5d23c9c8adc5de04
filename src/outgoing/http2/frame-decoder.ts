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

/** What a peer sends. Bytes are only valid until the call returns. */
export interface FrameListener {
  /** A whole header block: names, each followed by its value. */
  onHeaders(streamId: number, fields: readonly string[], isLast: boolean): void;
  /** Part of a body. `windowBytes` count against flow control: they include padding. */
  onData(
    streamId: number,
    bytes: Buffer,
    start: number,
    end: number,
    isLast: boolean,
    windowBytes: number,
  ): void;
  onReset(streamId: number, code: number): void;
  onSetting(name: number, value: number): void;
  /** All settings of one frame were reported. */
  onSettingsEnd(): void;
  onPing(bytes: Buffer, start: number, end: number): void;
  onGoAway(lastStreamId: number, code: number, debugData: string): void;
  /** Stream 0: the window of the connection. */
  onWindowUpdate(streamId: number, increment: number): void;
}

/** The bytes of one header block, over all its frames. */
const HEADER_BLOCK_BYTES_MAX = 32 * 1024;

/**
 * Decodes what a peer sends, checks each frame, and reports it to the listener. Source: RFC 9113, 6.
 *
 * Whether a stream exists is for the listener to check.
 */
export class FrameDecoder {
  private readonly listener: FrameListener;
  private readonly headers = new HeaderDecoder();
  private readonly frames: FrameReader;
  private isFirst = true;
  private isStopped = false;
  /** A header block that is continued in further frames. */
  private block:
    | { readonly id: number; readonly flags: number; readonly parts: Buffer[]; bytes: number }
    | undefined;

  /** `preface`: what the peer must send first. A server expects one, a client does not. */
  constructor(listener: FrameListener, preface?: Buffer) {
    this.listener = listener;
    this.frames = new FrameReader(
      (type, flags, id, bytes, start, end) => this.onFrame(type, flags, id, bytes, start, end),
      preface,
    );
  }

  /** Throws a `ProtocolFault`, after which nothing more can be read. */
  read(bytes: Buffer): void {
    this.frames.read(bytes);
  }

  /** Ignores all further frames. */
  stop(): void {
    this.isStopped = true;
  }

  private onFrame(
    type: number,
    flags: number,
    id: number,
    bytes: Buffer,
    start: number,
    end: number,
  ): void {
    if (this.isStopped) return;
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
        const from = payloadStart(flags, start);
        const to = payloadEnd(flags, bytes, start, end);
        check(from <= to, 'more padding than payload');
        return this.listener.onData(id, bytes, from, to, isLast, end - start);
      }
      case FRAME.headers:
        return this.onHeaders(id, flags, bytes, start, end);
      case FRAME.continuation:
        return this.onContinuation(flags, bytes, start, end);
      case FRAME.reset:
        checkLength(end - start, 4);
        return this.listener.onReset(id, bytes.readUInt32BE(start));
      case FRAME.settings:
        return this.onSettings(id, flags, bytes, start, end);
      case FRAME.ping:
        checkLength(end - start, 8);
        check(id === 0, 'PING on a stream');
        if ((flags & FLAG.ack) === 0) this.listener.onPing(bytes, start, end);
        return;
      case FRAME.goAway:
        if (id !== 0 || end - start < 8) {
          throw new ProtocolFault(ERROR.frameSizeError, 'malformed GOAWAY');
        }
        return this.listener.onGoAway(
          bytes.readUInt32BE(start) & STREAM_ID_MAX,
          bytes.readUInt32BE(start + 4),
          bytes.toString('utf8', start + 8, end),
        );
      case FRAME.windowUpdate:
        checkLength(end - start, 4);
        return this.listener.onWindowUpdate(id, bytes.readUInt32BE(start) & STREAM_ID_MAX);
      case FRAME.pushPromise:
        throw new ProtocolFault(ERROR.protocolError, 'PUSH_PROMISE was not allowed');
      default:
        // PRIORITY is deprecated, and unknown types must be ignored (RFC 9113, 4.1).
        return;
    }
  }

  private onHeaders(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    const from = payloadStart(flags, start) + ((flags & FLAG.priority) !== 0 ? 5 : 0);
    const to = payloadEnd(flags, bytes, start, end);
    check(from <= to, 'more padding than payload');
    if ((flags & FLAG.endHeaders) !== 0) return this.onBlock(id, flags, bytes, from, to);
    this.block = { id, flags, parts: [Buffer.from(bytes.subarray(from, to))], bytes: to - from };
  }

  private onContinuation(flags: number, bytes: Buffer, start: number, end: number): void {
    const { block } = this;
    if (block === undefined) {
      throw new ProtocolFault(ERROR.protocolError, 'CONTINUATION without HEADERS');
    }
    block.bytes += end - start;
    // Counting the parts bounds empty frames, too.
    if (block.bytes + block.parts.length > HEADER_BLOCK_BYTES_MAX) {
      throw new ProtocolFault(ERROR.enhanceYourCalm, 'header block too large');
    }
    block.parts.push(Buffer.from(bytes.subarray(start, end)));
    if ((flags & FLAG.endHeaders) === 0) return;
    this.block = undefined;
    const whole = Buffer.concat(block.parts);
    this.onBlock(block.id, block.flags, whole, 0, whole.length);
  }

  private onBlock(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    // Every block must be decoded: it changes the table that the next one refers to.
    const fields = this.headers.read(bytes, start, end);
    this.listener.onHeaders(id, fields, (flags & FLAG.endStream) !== 0);
  }

  private onSettings(id: number, flags: number, bytes: Buffer, start: number, end: number): void {
    check(id === 0, 'SETTINGS on a stream');
    if ((flags & FLAG.ack) !== 0) return;
    if ((end - start) % SETTING_BYTES !== 0) {
      throw new ProtocolFault(ERROR.frameSizeError, 'SETTINGS frame of a wrong size');
    }
    for (let at = start; at < end; at += SETTING_BYTES) {
      this.listener.onSetting(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2));
    }
    this.listener.onSettingsEnd();
  }
}

function payloadStart(flags: number, start: number): number {
  return (flags & FLAG.padded) !== 0 ? start + 1 : start;
}

function payloadEnd(flags: number, bytes: Buffer, start: number, end: number): number {
  return (flags & FLAG.padded) !== 0 ? end - (bytes[start] ?? 0) : end;
}

function check(isRight: boolean, fault: string): void {
  if (!isRight) throw new ProtocolFault(ERROR.protocolError, fault);
}

function checkLength(length: number, expected: number): void {
  if (length !== expected) throw new ProtocolFault(ERROR.frameSizeError, 'frame of a wrong size');
}
