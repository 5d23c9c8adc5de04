import { RedisError, type Reply } from './reply.ts';

/** The limit of a string. Redis' own limit, `proto-max-bulk-len`, is 512 MB; we store nothing near that size. */
const STRING_BYTES_MAX = 64 * 1024 * 1024;
/** The limit of nested arrays. */
const DEPTH_MAX = 8;

const CR = 0x0d;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const NOTHING = Buffer.alloc(0);

/** Thrown if the peer does not speak RESP2. */
export class NotRedis extends Error {}

interface OpenArray {
  readonly items: Reply[];
  readonly length: number;
}

/** Thrown away: the rest of the value has not arrived. */
const INCOMPLETE = Symbol();

/**
 * Parses replies from a stream of bytes, in chunks of any size. Source: Redis serialization protocol specification,
 * RESP2.
 *
 * It reads each byte once, except those of an unfinished line or string at the end: an array keeps the items that
 * have arrived.
 */
export class ReplyReader {
  private readonly onReply: (reply: Reply) => void;
  private bytes: Buffer = NOTHING;
  private position = 0;
  /** Chunks that are not joined to `bytes` yet, because a long string is incomplete. */
  private chunks: Buffer[] = [];
  private chunkBytes = 0;
  /** The number of bytes that must follow `position` before reading can continue. */
  private neededBytes = 0;
  private readonly open: OpenArray[] = [];

  constructor(onReply: (reply: Reply) => void) {
    this.onReply = onReply;
  }

  /** Calls `onReply` for each complete reply. Throws `NotRedis`. Keeps no reference to the chunk's memory. */
  read(chunk: Buffer): void {
    const unread = this.bytes.length - this.position;
    if (unread + this.chunkBytes + chunk.length < this.neededBytes) {
      this.chunks.push(Buffer.from(chunk));
      this.chunkBytes += chunk.length;
      return;
    }
    this.bytes =
      unread + this.chunkBytes === 0
        ? chunk
        : Buffer.concat([this.bytes.subarray(this.position), ...this.chunks, chunk]);
    this.chunks = [];
    this.chunkBytes = 0;
    this.neededBytes = 0;
    this.position = 0;
    while (this.position < this.bytes.length) {
      const value = this.value();
      if (value === INCOMPLETE) break;
      this.complete(value);
    }
    this.keepRest(chunk);
  }

  /** The chunk's memory belongs to the socket, so the unread part is copied. */
  private keepRest(chunk: Buffer): void {
    if (this.position === this.bytes.length) this.bytes = NOTHING;
    else if (this.bytes === chunk) this.bytes = Buffer.from(chunk.subarray(this.position));
    else return;
    this.position = 0;
  }

  /** Adds a value to the innermost open array, and closes each full array. */
  private complete(first: Reply | OpenArray): void {
    if (isOpenArray(first)) {
      if (this.open.length === DEPTH_MAX) throw new NotRedis('arrays are nested too deeply');
      this.open.push(first);
      return;
    }
    let value = first;
    for (;;) {
      const array = this.open.at(-1);
      if (array === undefined) return this.onReply(value);
      array.items.push(value);
      if (array.items.length < array.length) return;
      this.open.pop();
      value = array.items;
    }
  }

  private value(): Reply | OpenArray | typeof INCOMPLETE {
    const { bytes, position } = this;
    const end = bytes.indexOf(CR, position);
    // The line feed must have arrived as well.
    if (end === -1 || end + 1 === bytes.length) return INCOMPLETE;
    switch (bytes[position]) {
      case 0x24: // $
        return this.string(this.length(position + 1, end), end + 2);
      case 0x2a: // *
        return this.array(this.length(position + 1, end), end + 2);
      case 0x3a: // :
        this.position = end + 2;
        return this.length(position + 1, end);
      case 0x2b: // +
        this.position = end + 2;
        return bytes.toString('utf8', position + 1, end);
      case MINUS:
        this.position = end + 2;
        return new RedisError(bytes.toString('utf8', position + 1, end));
      default:
        throw new NotRedis('the peer does not speak the Redis protocol');
    }
  }

  private string(length: number, start: number): string | null | typeof INCOMPLETE {
    if (length < 0) {
      this.position = start;
      return null;
    }
    if (length > STRING_BYTES_MAX) throw new NotRedis(`a string of ${length} bytes`);
    const end = start + length;
    if (end + 2 > this.bytes.length) {
      this.neededBytes = end + 2 - this.position;
      return INCOMPLETE;
    }
    this.position = end + 2;
    return this.bytes.toString('utf8', start, end);
  }

  private array(length: number, start: number): Reply | OpenArray {
    this.position = start;
    if (length < 0) return null;
    return length === 0 ? [] : { items: [], length };
  }

  /** Reads a decimal number, which may be negative. */
  private length(start: number, end: number): number {
    const { bytes } = this;
    const isNegative = bytes[start] === MINUS;
    let number = 0;
    for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
      const digit = (bytes[at] ?? 0) - DIGIT_0;
      if (digit < 0 || digit > 9) throw new NotRedis('a length is not a number');
      number = number * 10 + digit;
    }
    return isNegative ? -number : number;
  }
}

function isOpenArray(value: Reply | OpenArray): value is OpenArray {
  return typeof value === 'object' && value !== null && 'items' in value;
}
