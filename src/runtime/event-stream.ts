import type { Timers } from './ports.ts';

const encoder = new TextEncoder();

/** How long the end of a stream waits for its reader. Milliseconds. */
const END_UNREAD_MS = 30_000;

export interface EventStreamOptions {
  readonly timers: Timers;
  /** Takes all that waits, as text; empty if nothing does. */
  readonly take: () => string;
  /** Called once, when the reader is gone. */
  readonly onClosed: () => void;
}

/**
 * A body of server-sent events that is generated only as fast as its reader reads. While it goes on, a reader may be
 * silent for any time. Once it has ended, a reader that does not take the end in time gets an error instead.
 */
export class EventStream<End extends string> {
  readonly body: ReadableStream<Uint8Array>;
  private readonly options: EventStreamOptions;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  private cancelUnread: () => void = () => undefined;
  private ending: End | undefined;
  private isClosed = false;
  /** Set while the reader waits. */
  private wake: (() => void) | undefined;

  constructor(options: EventStreamOptions) {
    this.options = options;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: (controller) => this.pull(controller),
        cancel: () => this.closed(),
      },
      // Nothing is made before the reader asks for it.
      { highWaterMark: 0 },
    );
  }

  /** Notifies the reader that there is something to read. */
  wakeUp(): void {
    const { wake } = this;
    this.wake = undefined;
    wake?.();
  }

  /** Ends the stream, once the reader has taken everything. */
  end(why: End): void {
    if (this.isClosed || this.ending !== undefined) return;
    this.ending = why;
    this.cancelUnread = this.options.timers.after(END_UNREAD_MS, () => {
      this.controller?.error(new Error('The end of the stream was not read'));
      this.closed();
    });
    this.wakeUp();
  }

  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    let text = this.options.take();
    while (text === '' && this.ending === undefined && !this.isClosed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      await promise;
      text = this.options.take();
    }
    if (this.isClosed) return;
    if (this.ending !== undefined) text += eventText('end', { why: this.ending });
    controller.enqueue(encoder.encode(text));
    if (this.ending === undefined) return;
    controller.close();
    this.closed();
  }

  private closed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.cancelUnread();
    this.wakeUp();
    this.options.onClosed();
  }
}

/** Writes one server-sent event. JSON has no line feeds. */
export function eventText(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
