/** One server-sent event. Its data are JSON. */
export interface StreamEvent {
  readonly name: string;
  readonly data: unknown;
}

/** More characters without an end are no event of our server. */
const EVENT_MAX = 4 * 1024 * 1024;

/** Reads the events of a stream one by one. Throws if it is not one. */
export async function* streamEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamEvent, void> {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    if (rest.length > EVENT_MAX) throw new Error('The stream has an event that is too long');
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
      if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
    }
  }
}
