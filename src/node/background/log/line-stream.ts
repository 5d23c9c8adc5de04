import type { ShownLine } from '../../../admin/log/server-log.ts';
import type { Timers } from '../../../runtime/ports.ts';

/** Why a stream ends. */
type StreamEnd = 'time' | 'stopping' | 'session-ended';

/** Lines that wait for a reader that is too slow; beyond it, the newest stay. */
const WAITING_MAX = 1_000;

/** After this time, a stream ends. A page that is still open asks for the next one. */
const STREAM_MS = 30 * 60 * 1000;

/** How often a silent stream shows that it is there, so that no proxy ends it. Milliseconds. */
const SILENT_MS = 15_000;

const encoder = new TextEncoder();

export interface LineStreamOptions {
  /** The first event of the stream. */
  readonly hello: object;
  readonly timers: Timers;
  /** Called once, when nobody reads any more. */
  readonly onClosed: () => void;
}

/** The stream of one reader of the log. What waits for it is bounded: a slow reader gets the newest. */
export class LineStream {
  readonly body: ReadableStream<Uint8Array>;
  private readonly options: LineStreamOptions;
  private text: string;
  private lines: ShownLine[] = [];
  private skipped = 0;
  private ending: StreamEnd | undefined;
  private isClosed = false;
  /** Set while the reader waits. */
  private wake: (() => void) | undefined;
  private cancelSilence: () => void;
  private readonly cancelEnd: () => void;

  constructor(options: LineStreamOptions) {
    this.options = options;
    this.text = eventText('hello', options.hello);
    this.body = new ReadableStream<Uint8Array>(
      { pull: (controller) => this.pull(controller), cancel: () => this.closed() },
      // Nothing is made before the reader asks for it.
      { highWaterMark: 0 },
    );
    this.cancelEnd = options.timers.after(STREAM_MS, () => this.end('time'));
    this.cancelSilence = this.breakSilenceLater();
  }

  offer(line: ShownLine): void {
    this.lines.push(line);
    if (this.lines.length > WAITING_MAX) {
      this.lines.shift();
      this.skipped++;
    }
    this.wakeUp();
  }

  /** Ends the stream after what waits. */
  end(why: StreamEnd): void {
    this.ending ??= why;
    this.wakeUp();
  }

  private async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    let text = this.take();
    while (text === '' && this.ending === undefined && !this.isClosed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.wake = resolve;
      await promise;
      text = this.take();
    }
    if (this.isClosed) return;
    if (this.ending !== undefined) text += eventText('end', { why: this.ending });
    controller.enqueue(encoder.encode(text));
    if (this.ending === undefined) return;
    controller.close();
    this.closed();
  }

  /** Takes all that waits, as text. */
  private take(): string {
    let { text } = this;
    const { lines, skipped } = this;
    if (lines.length > 0) text += eventText('lines', { lines, skipped });
    this.text = '';
    this.lines = [];
    this.skipped = 0;
    return text;
  }

  private breakSilenceLater(): () => void {
    return this.options.timers.after(SILENT_MS, () => {
      // A comment of the format, which readers ignore.
      this.text ||= ':\n\n';
      this.wakeUp();
      this.cancelSilence = this.breakSilenceLater();
    });
  }

  private wakeUp(): void {
    const { wake } = this;
    this.wake = undefined;
    wake?.();
  }

  private closed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.cancelEnd();
    this.cancelSilence();
    this.wakeUp();
    this.options.onClosed();
  }
}

/** Writes one server-sent event. JSON has no line feeds. */
function eventText(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
