import { fileFault } from '../../../../runtime/error-code.ts';
import { UsageError } from '../../../output.ts';

/** Stands for standard input. */
const STANDARD_INPUT = '-';

/** The first bytes of a file that gzip has made. Source: RFC 1952, 2.3.1. */
const GZIP = [0x1f, 0x8b];

/** In characters. A device with 5,000 interests of 164 characters has fewer. */
export const RECORD_LENGTH_MAX = 1_048_576;

/**
 * The text of a file, piece by piece, unpacked if it is packed by gzip. It must be UTF-8; a byte order mark at its
 * start is left out. Throws `UsageError` if it cannot be read.
 */
export async function* textOf(file: string): AsyncGenerator<string> {
  const bytes = file === STANDARD_INPUT ? Bun.stdin.stream() : Bun.file(file).stream();
  try {
    const [head, whole] = await peek(bytes);
    const isPacked = GZIP.every((byte, at) => head[at] === byte);
    const unpacked = isPacked ? whole.pipeThrough(new DecompressionStream('gzip')) : whole;
    yield* unpacked.pipeThrough(new TextDecoderStream('utf-8', { fatal: true }));
  } catch (error) {
    const name = file === STANDARD_INPUT ? 'standard input' : file;
    if (error instanceof TypeError) {
      throw new UsageError(`${name} is neither text in UTF-8 nor such text packed by gzip`);
    }
    throw new UsageError(`${name} ${fileFault(error)}`);
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

/** Reads the first piece of a stream, and gives it with a stream of all pieces. */
async function peek(stream: ReadableStream<Bytes>): Promise<[Bytes, ReadableStream<Bytes>]> {
  const reader = stream.getReader();
  const { value: first = new Uint8Array() } = await reader.read();
  let isFirst = true;
  const whole = new ReadableStream<Bytes>({
    async pull(controller) {
      const next = isFirst ? { value: first, done: false } : await reader.read();
      isFirst = false;
      if (next.value !== undefined && next.value.length > 0) controller.enqueue(next.value);
      if (next.done) controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return [first, whole];
}

/** The lines of a text without their ends. Throws `UsageError` for one that is too long. */
export async function* linesOf(text: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  let number = 1;
  for await (const piece of text) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      yield checked(line, number++);
    }
    checked(rest, number);
  }
  if (rest !== '') yield checked(rest, number);
}

function checked(line: string, number: number): string {
  if (line.length > RECORD_LENGTH_MAX) {
    throw new UsageError(`line ${number} has more than ${RECORD_LENGTH_MAX} characters`);
  }
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
