import { type Signal, signal } from '@preact/signals';
import type { Answer } from '../../api/client.ts';
import { apiUrl } from '../../api/client.ts';
import type { StreamEvent } from '../../api/event-stream.ts';
import { openStream } from '../../api/stream-connection.ts';

export type LogLine = Answer<'GET /log'>['lines'][number];

export interface LogQuery {
  readonly level: string;
  readonly text: string;
}

/** Lines that the page keeps. */
const KEPT_MAX = 5_000;

/** The log of the server that is asked: the lines that it keeps, and those to come. */
export class LogFeed {
  /** The oldest first. */
  readonly lines: Signal<readonly LogLine[]> = signal([]);
  /** The server whose log it is; `undefined` until it answered. */
  readonly server: Signal<string | undefined> = signal(undefined);
  /** Why the stream is not open. */
  readonly lost: Signal<string | undefined> = signal(undefined);
  /** Lines that were left out because this page was too slow. */
  readonly skipped = signal(0);
  private readonly query: LogQuery;

  constructor(query: LogQuery) {
    this.query = query;
  }

  /** Opens the stream; gives how to close it. */
  start(): () => void {
    return openStream(() => this.url(), {
      event: (event) => this.take(event),
      lost: (why) => {
        this.lost.value = why;
      },
    });
  }

  /** A stream that is opened again goes on after the last line. */
  private url(): string {
    const after = String(this.lines.value.at(-1)?.n ?? 0);
    return apiUrl('/log/stream', {}, { ...this.query, after });
  }

  private take({ name, data }: StreamEvent): void {
    const given: unknown = JSON.parse(data);
    if (name === 'hello') {
      this.server.value = (given as { node: string }).node;
      this.lost.value = undefined;
    }
    if (name !== 'lines') return;
    const { lines, skipped } = given as { lines: readonly LogLine[]; skipped: number };
    this.lines.value = [...this.lines.value, ...lines].slice(-KEPT_MAX);
    this.skipped.value += skipped;
  }
}
