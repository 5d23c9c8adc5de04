import type { ShownLine } from '../../../asking/facts/log.ts';
import { EventStream, eventText } from '../../../runtime/event-stream.ts';
import type { Timers } from '../../../runtime/ports.ts';

/** Why a stream ends. */
type StreamEnd = 'time' | 'stopping' | 'session-ended' | 'displaced';

/** The limit of queued lines for a slow reader. Beyond it, the oldest are dropped. */
const WAITING_MAX = 1_000;

/** The interval of keep-alive comments, so that no proxy ends an idle stream. Milliseconds. */
const SILENT_MS = 15_000;

export interface LineStreamOptions {
  /** The first event of the stream. */
  readonly hello: object;
  readonly timers: Timers;
  /** The longest lifetime. A page that is still open reconnects. */
  readonly lifeMs: number;
  /** Called once, when the reader is gone. */
  readonly onClosed: () => void;
}

/** A log stream of one reader. Its queue is bounded: a slow reader loses the oldest lines. */
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
    this.stream = new EventStream({
      timers: options.timers,
      take: () => this.take(),
      onClosed: () => this.closed(),
    });
    this.cancelEnd = options.timers.after(options.lifeMs, () => this.end('time'));
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

  /** Ends the stream after the reader has read everything. */
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
      // An SSE comment, which readers ignore.
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
