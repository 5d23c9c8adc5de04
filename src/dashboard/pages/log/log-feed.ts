import { type Signal, signal } from '@preact/signals';
import { type Answer, apiUrl, call, Failed, type Given } from '../../api/client.ts';
import type { StreamEvent } from '../../api/event-stream.ts';
import { openStream } from '../../api/stream-connection.ts';

type Listed = Answer<'GET /log'>;

/** A line of a stream does not name its server. */
export type LogLine = Omit<Listed['lines'][number], 'server'> & { readonly server?: string };

export interface LogQuery {
  readonly level: string;
  readonly text: string;
}

/** Lines that the page keeps. */
const KEPT_MAX = 5_000;

/** How often several servers are asked for their newest lines, and for how many. */
const POLL_MS = 2_000;
const NEWEST = 300;

/** The logs of all servers: the lines that they keep, and new ones. The log of a single server is streamed. */
export class LogFeed {
  /** The oldest first. */
  readonly lines: Signal<readonly LogLine[]> = signal([]);
  /** The servers whose logs they are; `undefined` until one answered. */
  readonly servers: Signal<Listed['servers'] | undefined> = signal(undefined);
  /** Why no further lines come. */
  readonly lost: Signal<string | undefined> = signal(undefined);
  /** Lines that were left out because this page was too slow. */
  readonly skipped = signal(0);
  /** Whether servers wrote more lines between two answers than fit into one. */
  readonly hasGap = signal(false);
  private readonly query: LogQuery;

  constructor(query: LogQuery) {
    this.query = query;
  }

  /** Starts requesting lines. Returns a function that stops it. */
  start(): () => void {
    let stop: () => void = () => undefined;
    let isStopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      if (isStopped) return;
      if (document.hidden) document.addEventListener('visibilitychange', again, { once: true });
      else void ask();
    };
    const ask = async () => {
      try {
        const { level, text } = this.query;
        const query = { level, text, limit: String(NEWEST) } as NonNullable<
          Given<'GET /log'>['query']
        >;
        const answer = await call('GET /log', { query });
        if (isStopped) return;
        this.servers.value = answer.servers;
        this.lost.value = undefined;
        if (answer.servers.length === 1) {
          stop = this.follow();
          return;
        }
        this.merge(answer);
      } catch (error) {
        if (!(error instanceof Failed)) throw error;
        this.lost.value = error.message;
      }
      timer = setTimeout(again, POLL_MS);
    };
    void ask();
    return () => {
      isStopped = true;
      clearTimeout(timer);
      stop();
    };
  }

  private follow(): () => void {
    return openStream(() => this.url(), {
      event: (event) => this.take(event),
      lost: (why) => {
        this.lost.value = why;
      },
    });
  }

  /** Adds the lines that are new. */
  private merge({ lines, next }: Listed): void {
    const keyOf = ({ server, n }: LogLine) => `${server} ${n}`;
    const known = new Set(this.lines.value.map(keyOf));
    const added = lines.filter((line) => !known.has(keyOf(line)));
    if (known.size > 0 && added.length === lines.length && next !== null) this.hasGap.value = true;
    if (added.length === 0) return;
    this.lines.value = [...this.lines.value, ...added]
      .toSorted((a, b) => a.atMs - b.atMs)
      .slice(-KEPT_MAX);
  }

  /** A reopened stream continues after the last line. */
  private url(): string {
    const after = String(this.lines.value.at(-1)?.n ?? 0);
    return apiUrl('/log/stream', {}, { ...this.query, after });
  }

  private take({ name, data }: StreamEvent): void {
    const given: unknown = JSON.parse(data);
    if (name === 'hello') this.lost.value = undefined;
    if (name !== 'lines') return;
    const { lines, skipped } = given as { lines: readonly LogLine[]; skipped: number };
    this.lines.value = [...this.lines.value, ...lines].slice(-KEPT_MAX);
    this.skipped.value += skipped;
  }
}
