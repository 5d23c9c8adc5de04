/** Bytes of one piece. What is larger gets a piece of its own. */
const PIECE_BYTES = 64 * 1024;

/**
 * Collects bytes that are to be written together. A piece that was taken is never written to again: whoever has
 * it may keep it.
 */
export class OutBuffer {
  private piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  /** What is in it and was not taken stands between these two. */
  private start = 0;
  private end = 0;
  private readonly full: Buffer[] = [];
  private fullBytes = 0;

  get length(): number {
    return this.fullBytes + this.end - this.start;
  }

  /** Makes sure that so many bytes fit without a new piece. */
  reserve(bytes: number): void {
    if (this.end + bytes <= this.piece.length) return;
    if (this.end > this.start) {
      this.full.push(this.piece.subarray(this.start, this.end));
      this.fullBytes += this.end - this.start;
    }
    this.piece = Buffer.allocUnsafeSlow(Math.max(PIECE_BYTES, bytes));
    this.start = 0;
    this.end = 0;
  }

  // The following want room that was reserved.

  byte(value: number): void {
    this.piece[this.end++] = value;
  }

  uint32(value: number): void {
    this.end = this.piece.writeUInt32BE(value, this.end);
  }

  bytes(bytes: Uint8Array, from = 0, to = bytes.length): void {
    this.piece.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to), this.end);
    this.end += to - from;
  }

  latin1(text: string): void {
    this.end += this.piece.write(text, this.end, 'latin1');
  }

  /** A number whose first byte has other bits above. Source: RFC 7541, 5.1. */
  integer(bitsAbove: number, prefixBits: number, value: number): void {
    const full = (1 << prefixBits) - 1;
    if (value < full) return this.byte(bitsAbove | value);
    this.byte(bitsAbove | full);
    let rest = value - full;
    while (rest >= 128) {
      this.byte((rest & 127) | 128);
      rest >>= 7;
    }
    this.byte(rest);
  }

  /** The header of a frame. Source: RFC 9113, 4.1. */
  frame(length: number, type: number, flags: number, streamId: number): void {
    this.byte(length >> 16);
    this.byte(length >> 8);
    this.byte(length);
    this.byte(type);
    this.byte(flags);
    this.uint32(streamId);
  }

  /** The place that is written to next, for `frameLengthAt`. */
  get position(): number {
    return this.end;
  }

  /** Says how long the frame is whose header begins there: all that was written since. */
  frameLengthAt(position: number, headerBytes: number): void {
    const length = this.end - position - headerBytes;
    this.piece[position] = length >> 16;
    this.piece[position + 1] = length >> 8;
    this.piece[position + 2] = length;
  }

  /** Gives what was collected, and begins anew. */
  take(): readonly Buffer[] {
    const taken = this.full.splice(0);
    this.fullBytes = 0;
    if (this.end > this.start) taken.push(this.piece.subarray(this.start, this.end));
    this.start = this.end;
    return taken;
  }
}
