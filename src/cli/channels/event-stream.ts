/** One server-sent event. Its data are JSON. */
export interface StreamEvent {
  readonly name: string;
  readonly data: unknown;
}

/** More characters without an end are no event of our server. */
const EVENT_MAX = 4 * 1024 * 1024;

/** The fields of one block of a stream, as they came; of a comment none. */
export interface StreamBlock {
  readonly event?: string;
  readonly id?: string;
  readonly data?: string;
}

/** Reads a stream block by block. Throws if it is none. */
export async function* streamBlocks(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamBlock, void> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    if (rest.length > EVENT_MAX) throw new Error('The stream has an event that is too long');
    for (const block of blocks) yield blockOf(block);
  }
}

function blockOf(block: string): StreamBlock {
  // The flag `s`: lines of a stream end with line feeds only, and a value may have what JavaScript takes for the end of a line.
  const fields = block.split('\n').map((line) => /^(event|id|data): (.*)$/s.exec(line) ?? []);
  return Object.fromEntries(fields.map(([, name = '', value]) => [name, value]));
}

/** Reads the events of a stream one by one. Throws if it is not one. */
export async function* streamEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamEvent, void> {
  for await (const { event, data } of streamBlocks(body)) {
    if (event !== undefined && data !== undefined) yield { name: event, data: JSON.parse(data) };
  }
}
