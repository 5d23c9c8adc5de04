import type { ShownLine } from '../../../admin/log/server-log.ts';
import { EventStream, eventText } from '../../../runtime/event-stream.ts';
import type { Timers } from '../../../runtime/ports.ts';

/** Why a stream ends. */
type StreamEnd = 'time' | 'stopping' | 'session-ended';

/** Lines that wait for a reader that is too slow; beyond it, the newest stay. */
const WAITING_MAX = 1_000;

/** After this time, a stream ends. A page that is still open asks for the next one. */
const STREAM_MS = 30 * 60 * 1000;

/** How often a silent stream shows that it is there, so that no proxy ends it. Milliseconds. */
const SILENT_MS = 15_000;

export interface LineStreamOptions {
  /** The first event of the stream. */
  readonly hello: object;
  readonly timers: Timers;
  /** Called once, when nobody reads any more. */
  readonly onClosed: () => void;
}

/** The stream of one reader of the log. What waits for it is bounded: a slow reader gets the newest. */
export class LineStream {
  private readonly stream: EventStream<StreamEnd>;
  private readonly options: LineStreamOptions;
  private text: string;
  private lines: ShownLine[] = [];
  private skipped = 0;
  private cancelSilence: () => void;
  private readonly cancelEnd: () => void;

  constructor(options: LineStreamOptions) {
    this.options = options;
    this.text = eventText('hello', options.hello);
    this.stream = new EventStream({ take: () => this.take(), onClosed: () => this.closed() });
    this.cancelEnd = options.timers.after(STREAM_MS, () => this.end('time'));
    this.cancelSilence = this.breakSilenceLater();
  }

  get body(): ReadableStream<Uint8Array> {
    return this.stream.body;
  }

  offer(line: ShownLine): void {
    this.lines.push(line);
    if (this.lines.length > WAITING_MAX) {
      this.lines.shift();
      this.skipped++;
    }
    this.stream.wakeUp();
  }

  /** Ends the stream, once the reader has taken everything. */
  end(why: StreamEnd): void {
    this.stream.end(why);
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
      this.stream.wakeUp();
      this.cancelSilence = this.breakSilenceLater();
    });
  }

  private closed(): void {
    this.cancelEnd();
    this.cancelSilence();
    this.options.onClosed();
  }
}
