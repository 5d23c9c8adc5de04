import { OutBuffer } from './out-buffer.ts';
import { FLAG, FRAME, FRAME_HEADER_BYTES, SETTING_BYTES } from './protocol.ts';

/** Bytes that may wait for a full wire. Requests are held back long before. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** From this size on, bytes are written at once instead of at the end of the turn. */
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
  private readonly write: (bytes: Buffer) => boolean;
  private readonly onOverflow: () => void;
  private newestStreamId = 0;
  private isFlushPlanned = false;
  private isClosed = false;

  /**
   * `write` returns `false` when the wire is full; call `drained` once it is not. `onOverflow` is called when the wire
   * stays full until more than 1 MiB waits for it.
   */
  constructor(write: (bytes: Buffer) => boolean, onOverflow: () => void = () => undefined) {
    this.write = write;
    this.onOverflow = onOverflow;
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
  // biome-ignore lint/complexity/useMaxParams: an object for each frame would cost more than the frame
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
    const payload = Buffer.alloc(settings.length * SETTING_BYTES);
    for (const [index, [name, value]] of settings.entries()) {
      payload.writeUInt16BE(name, index * SETTING_BYTES);
      payload.writeUInt32BE(value, index * SETTING_BYTES + 2);
    }
    this.frame(FRAME.settings, 0, 0, payload);
  }

  settingsAck(): void {
    this.frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(0));
  }

  reset(streamId: number, code: number): void {
    this.frame(FRAME.reset, 0, streamId, uint32(code));
  }

  windowUpdate(streamId: number, increment: number): void {
    this.frame(FRAME.windowUpdate, 0, streamId, uint32(increment));
  }

  ping(): void {
    this.frame(FRAME.ping, 0, 0, EMPTY_PING);
  }

  goAway(lastStreamId: number, code: number, debugData = ''): void {
    const payload = [uint32(lastStreamId), uint32(code), Buffer.from(debugData)];
    this.frame(FRAME.goAway, 0, 0, Buffer.concat(payload));
  }

  /** The wire is writable again. */
  drained(): void {
    this.isBlocked = false;
    this.flush();
  }

  flush(): void {
    if (this.isClosed) return;
    if (this.isBlocked) {
      if (this.out.length > WAITING_BYTES_MAX) this.onOverflow();
      return;
    }
    this.flushedStreamId = this.newestStreamId;
    for (const piece of this.out.take()) {
      if (!this.write(piece)) this.isBlocked = true;
    }
  }

  /** Writes nothing from now on. */
  close(): void {
    this.isClosed = true;
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

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
