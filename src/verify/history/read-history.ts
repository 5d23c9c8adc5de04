import { closeSync, openSync, readSync } from 'node:fs';
import type { History, Line } from './line.ts';
import { NoHistory, readHeader, readLine } from './read-line.ts';

const BYTES_MAX = 1024 ** 3;
const LINES_MAX = 50_000_000;
/** Lines that are no deliveries, or the channels, members and devices in them: each may take some hundred bytes of memory. */
const OTHERS_MAX = 4_000_000;
const LINE_BYTES_MAX = 4 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;
const CHUNKS_BETWEEN_COLLECTIONS = 16;
const STANDARD_INPUT = 0;
const LINE_FEED = 0x0a;

/** Reads the history in a file while it is gone through; `-` is standard input. Throws `NoHistory`, and errors of the system. */
export function readHistory(file: string): History {
  const lines = linesOf(chunksOf(file));
  const first = lines.next();
  if (first.done === true) throw new NoHistory('line 1 is missing: there is nothing to read');
  return { header: readHeader(first.value), lines: parsed(lines) };
}

/** Reads the lines after the first, which has been read. Throws `NoHistory`. */
export function* parsed(lines: Iterable<string>, othersMax = OTHERS_MAX): Iterable<Line> {
  let number = 1;
  let before = 0;
  let others = 0;
  for (const text of lines) {
    number++;
    if (number > LINES_MAX) throw new NoHistory(`line ${number}: there are more than ${LINES_MAX}`);
    const line = readLine(text, number, before);
    before = line.t;
    if (line.op !== 'event') others += Math.max(1, entriesOf(line));
    if (others > othersMax) {
      throw new NoHistory(
        `line ${number}: there are more than ${othersMax} lines that are no event, counting each channel, member and device`,
      );
    }
    yield line;
  }
}

/** How much the lists and maps of a line hold. */
function entriesOf(line: Line): number {
  let entries = 0;
  for (const value of Object.values(line)) {
    if (typeof value === 'object') entries += Object.keys(value).length;
  }
  return entries;
}

/** Splits bytes into lines. Keeps one line at most. Throws `NoHistory`. */
export function* linesOf(chunks: Iterable<Buffer>, bytesMax = BYTES_MAX): Generator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pieces: Buffer[] = [];
  let length = 0;
  let number = 1;
  const keep = (piece: Buffer) => {
    length += piece.length;
    if (length > LINE_BYTES_MAX) {
      throw new NoHistory(`line ${number} has more than ${LINE_BYTES_MAX} bytes`);
    }
    pieces.push(piece);
  };
  /** The line that ends with a piece. */
  const take = (last: Buffer) => {
    // Most lines are in one piece: a copy of each would be garbage.
    const isWhole = pieces.length === 0;
    keep(last);
    const bytes = isWhole ? last : Buffer.concat(pieces);
    pieces = [];
    length = 0;
    try {
      return decoder.decode(bytes);
    } catch {
      // The decoder has no message of its own that helps.
      throw new NoHistory(`line ${number} is not UTF-8`);
    }
  };
  let bytes = 0;
  for (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      throw new NoHistory(`line ${number}: there are more than ${bytesMax} bytes`);
    }
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      yield take(chunk.subarray(start, end));
      number++;
      start = end + 1;
    }
    // The chunk is written over by the next one.
    if (start < chunk.length) keep(Buffer.from(chunk.subarray(start)));
  }
  if (length > 0) yield take(Buffer.alloc(0));
}

function* chunksOf(file: string): Iterable<Buffer> {
  const isStandardInput = file === '-';
  const descriptor = isStandardInput ? STANDARD_INPUT : openSync(file, 'r');
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let chunk = 1; ; chunk++) {
      // The collector counts the lists of the checker as well, and would let as much garbage pile up beside them.
      if (chunk % CHUNKS_BETWEEN_COLLECTIONS === 0) Bun.gc(true);
      const bytes = readSync(descriptor, buffer);
      if (bytes === 0) return;
      yield buffer.subarray(0, bytes);
    }
  } finally {
    if (!isStandardInput) closeSync(descriptor);
  }
}
