/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly name: string;
  readonly data: string;
}

/** Cuts the text of a `text/event-stream` into its events. Source: HTML, §9.2.6. */
export class EventStreamReader {
  private rest = '';
  private name = '';
  private data: string[] = [];

  /** Takes the next piece of text; gives the events that it completes. */
  push(text: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (this.data.length > 0) {
          events.push({
            name: this.name === '' ? 'message' : this.name,
            data: this.data.join('\n'),
          });
        }
        this.name = '';
        this.data = [];
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') this.name = value;
      if (field === 'data') this.data.push(value);
    }
    return events;
  }
}
