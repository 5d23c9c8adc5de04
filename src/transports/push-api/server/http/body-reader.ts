import type { BodyFraming } from './request-head.ts';

/** What was read of a body. */
export interface BodyPart {
  /** How many bytes of what has arrived are no longer needed. */
  readonly used: number;
  readonly data: readonly Buffer[];
  readonly isComplete: boolean;
}

/** The longest line with the size of a chunk, or of a trailer. Bytes. */
const LINE_BYTES_MAX = 1024;

const TRAILERS_MAX = 64;

/** The limit of chunks of a body: a body of single bytes would cost far more time than its size says. */
const CHUNKS_MAX = 8_192;

/** The size of a chunk, and extensions, which are ignored: RFC 9112, §7.1.1. */
const SIZE_LINE = /^([\da-f]{1,8})(?:[ \t]*;[\t\x20-\x7e]*)?$/i;

const LF = 10;

/** Finds the parts of a body and its end in what arrives. */
export class BodyReader {
  /** Bytes of the body, or of the chunk, that are still to come. */
  private left: number;
  private readonly isChunked: boolean;
  /** What comes next of a chunked body. */
  private next: 'size' | 'data' | 'end-of-data' | 'trailer' = 'size';
  private chunks = 0;
  private trailers = 0;

  constructor(framing: BodyFraming) {
    this.isChunked = framing === 'chunks';
    this.left = framing === 'chunks' ? 0 : framing.bytes;
  }

  /** Reads what it can. Returns `undefined` if this is no body in chunks. */
  read(bytes: Buffer): BodyPart | undefined {
    if (this.isChunked) return this.readChunks(bytes);
    const part = bytes.subarray(0, this.left);
    this.left -= part.length;
    return { used: part.length, data: part.length > 0 ? [part] : [], isComplete: this.left === 0 };
  }

  private readChunks(bytes: Buffer): BodyPart | undefined {
    const data: Buffer[] = [];
    for (let at = 0; ; ) {
      if (this.next === 'data') {
        const part = bytes.subarray(at, at + this.left);
        // Copied: a byte would keep all in memory that came with it, such as the extension of its chunk.
        if (part.length > 0) data.push(Buffer.from(part));
        this.left -= part.length;
        at += part.length;
        if (this.left > 0) return { used: at, data, isComplete: false };
        this.next = 'end-of-data';
      }
      const line = lineAt(bytes, at);
      if (line === 'wrong') return undefined;
      if (line === 'incomplete') return { used: at, data, isComplete: false };
      at += line.length + 2;
      const isLast = this.take(line);
      if (isLast === undefined) return undefined;
      if (isLast) return { used: at, data, isComplete: true };
    }
  }

  /** Takes a line between two chunks. Returns whether the body ends with it; `undefined`: it must not be there. */
  private take(line: string): boolean | undefined {
    if (this.next === 'end-of-data') {
      this.next = 'size';
      return line === '' ? false : undefined;
    }
    if (this.next === 'trailer') {
      // Trailers are dropped.
      this.trailers++;
      return this.trailers > TRAILERS_MAX ? undefined : line === '';
    }
    const size = SIZE_LINE.exec(line)?.[1];
    if (size === undefined) return undefined;
    this.chunks++;
    if (this.chunks > CHUNKS_MAX) return undefined;
    this.left = Number.parseInt(size, 16);
    this.next = this.left === 0 ? 'trailer' : 'data';
    return false;
  }
}

/** A line without its end. A line feed alone ends no line: others may see the end of the body elsewhere. */
function lineAt(bytes: Buffer, at: number): string | 'incomplete' | 'wrong' {
  const end = bytes.indexOf(LF, at);
  if (end < 0) return bytes.length - at > LINE_BYTES_MAX ? 'wrong' : 'incomplete';
  const line = bytes.toString('latin1', at, end);
  const isLine = line.length > 0 && line.indexOf('\r') === line.length - 1;
  return isLine && line.length <= LINE_BYTES_MAX && !line.includes('\0')
    ? line.slice(0, -1)
    : 'wrong';
}
