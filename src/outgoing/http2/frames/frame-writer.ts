import { OutBuffer } from './out-buffer.ts';
import { FLAG, FRAME, FRAME_HEADER_BYTES, SETTING_BYTES } from './protocol.ts';

/** Where frames are written. */
export interface FrameSink {
  /** Returns `false` when the sink is full. Call `drained` once it is not. */
  write(bytes: Buffer): boolean;
  /** The sink has stayed full until more than 1 MiB waited for it. */
  onOverflow(): void;
}

/** Bytes that may wait for a full sink. Requests are held back long before. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** From this size on, bytes are written at once and not at the end of the turn of the event loop. */
const FLUSH_BYTES = 64 * 1024;

const EMPTY_PING = Buffer.alloc(8);

/**
 * Writes the frames of one connection. Frames of one turn of the event loop leave in one write, which is most of what
 * makes sending fast.
 */
export class FrameWriter {
  /** For what writes into a frame piece by piece, between `beginHeaders` and `endHeaders`. */
  readonly out = new OutBuffer();
  isBlocked = false;
  /** The newest stream of which anything has left. */
  flushedStreamId = 0;
  private readonly sink: FrameSink;
  private newestStreamId = 0;
  private isFlushPlanned = false;
  private isClosed = false;

  constructor(sink: FrameSink) {
    this.sink = sink;
  }

  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.out.reserve(FRAME_HEADER_BYTES + payload.length);
    this.out.frame(payload.length, type, flags, streamId);
    this.out.bytes(payload);
    this.planFlush();
  }

  /**
   * Begins a HEADERS frame of at most `bytesMax`, which opens a stream. Returns its position for `endHeaders`, after which
   * the caller plans a flush.
   */
  beginHeaders(streamId: number, flags: number, bytesMax: number): number {
    this.newestStreamId = streamId;
    this.out.reserve(FRAME_HEADER_BYTES + bytesMax);
    const { position } = this.out;
    this.out.frame(0, FRAME.headers, flags, streamId);
    return position;
  }

  endHeaders(position: number): void {
    this.out.frameLengthAt(position, FRAME_HEADER_BYTES);
  }

  /** Writes a DATA frame. The caller plans a flush. */
  data(streamId: number, flags: number, body: Uint8Array, start: number, end: number): void {
    this.out.reserve(FRAME_HEADER_BYTES + end - start);
    this.out.frame(end - start, FRAME.data, flags, streamId);
    this.out.bytes(body, start, end);
  }

  /** Writes bytes that are no frame, such as the client's preface. */
  raw(bytes: Uint8Array): void {
    this.out.reserve(bytes.length);
    this.out.bytes(bytes);
    this.planFlush();
  }

  settings(settings: readonly (readonly [name: number, value: number])[]): void {
    const length = settings.length * SETTING_BYTES;
    this.out.reserve(FRAME_HEADER_BYTES + length);
    this.out.frame(length, FRAME.settings, 0, 0);
    for (const [name, value] of settings) {
      this.out.byte(name >> 8);
      this.out.byte(name);
      this.out.uint32(value);
    }
    this.planFlush();
  }

  settingsAck(): void {
    this.out.reserve(FRAME_HEADER_BYTES);
    this.out.frame(0, FRAME.settings, FLAG.ack, 0);
    this.planFlush();
  }

  reset(streamId: number, code: number): void {
    this.number(FRAME.reset, streamId, code);
  }

  windowUpdate(streamId: number, increment: number): void {
    this.number(FRAME.windowUpdate, streamId, increment);
  }

  ping(): void {
    this.frame(FRAME.ping, 0, 0, EMPTY_PING);
  }

  goAway(lastStreamId: number, code: number, debugData = ''): void {
    const words = Buffer.from(debugData);
    const length = 8 + words.length;
    this.out.reserve(FRAME_HEADER_BYTES + length);
    this.out.frame(length, FRAME.goAway, 0, 0);
    this.out.uint32(lastStreamId);
    this.out.uint32(code);
    this.out.bytes(words);
    this.planFlush();
  }

  /** The sink takes bytes again. */
  drained(): void {
    this.isBlocked = false;
    this.flush();
  }

  flush(): void {
    if (this.isClosed) return;
    if (this.isBlocked) {
      if (this.out.length > WAITING_BYTES_MAX) this.sink.onOverflow();
      return;
    }
    this.flushedStreamId = this.newestStreamId;
    for (const piece of this.out.take()) {
      if (!this.sink.write(piece)) this.isBlocked = true;
    }
  }

  /** Writes nothing from now on. */
  close(): void {
    this.isClosed = true;
  }

  private number(type: number, streamId: number, value: number): void {
    this.out.reserve(FRAME_HEADER_BYTES + 4);
    this.out.frame(4, type, 0, streamId);
    this.out.uint32(value);
    this.planFlush();
  }

  /** Plans one flush for the end of this turn of the event loop. */
  planFlush(): void {
    if (this.out.length >= FLUSH_BYTES) return this.flush();
    if (this.isFlushPlanned) return;
    this.isFlushPlanned = true;
    process.nextTick(this.runPlannedFlush);
  }

  private readonly runPlannedFlush = (): void => {
    this.isFlushPlanned = false;
    this.flush();
  };
}
