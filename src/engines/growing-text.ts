/** Units of pieces that wait to be joined. */
const TAIL_MAX = 4096;

/**
 * A text that grows by small pieces. Appending takes constant time on average, and memory is that of the text: a text that
 * is added up by `+=` keeps all of its pieces.
 */
export class GrowingText {
  private chunks: string[] = [];
  private tail: string[] = [];
  private tailLength = 0;
  /** UTF-16 units. */
  length = 0;

  append(text: string): void {
    this.length += text.length;
    this.tailLength += text.length;
    this.tail.push(text);
    if (this.tailLength < TAIL_MAX) return;
    this.chunks.push(this.tail.join(''));
    this.tail = [];
    this.tailLength = 0;
  }

  /** Returns the text. Takes as long as reading it. */
  toString(): string {
    if (this.chunks.length + this.tail.length > 1) {
      this.chunks = [[...this.chunks, ...this.tail].join('')];
      this.tail = [];
      this.tailLength = 0;
    }
    return this.chunks[0] ?? this.tail[0] ?? '';
  }
}
