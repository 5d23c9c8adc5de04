/** Size of one piece. A larger reservation gets a piece of its own. */
const PIECE_BYTES = 64 * 1024;

/**
 * Collects bytes to be written together. A piece that was taken never changes again.
 */
export class OutBuffer {
  private piece: Buffer;
  /** The bytes not yet taken are between `start` and `end`. */
  private start = 0;
  private end = 0;
  private readonly full: Buffer[] = [];
  private fullBytes = 0;

  /** There is room for `bytes` without a reservation. */
  constructor(bytes = PIECE_BYTES) {
    this.piece = Buffer.allocUnsafeSlow(bytes);
  }

  get length(): number {
    return this.fullBytes + this.end - this.start;
  }

  /** Makes sure that `bytes` more fit. */
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

  // The following need reserved room.

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

  /** An integer with a prefix; `bitsAbove` are the other bits of its first byte. Source: RFC 7541, 5.1. */
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

  /** Where the next byte goes, for `frameLengthAt`. */
  get position(): number {
    return this.end;
  }

  /** Sets the length of the frame that begins at `position` to all that was written since. */
  frameLengthAt(position: number, headerBytes: number): void {
    const length = this.end - position - headerBytes;
    this.piece[position] = length >> 16;
    this.piece[position + 1] = length >> 8;
    this.piece[position + 2] = length;
  }

  /** Returns what was collected, and starts over. */
  take(): readonly Buffer[] {
    const taken = this.full.splice(0);
    this.fullBytes = 0;
    if (this.end > this.start) taken.push(this.piece.subarray(this.start, this.end));
    this.start = this.end;
    return taken;
  }
}
