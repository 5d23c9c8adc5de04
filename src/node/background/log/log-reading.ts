import type { Admin } from '../../../admin/admin.ts';
import { ownerOf, type StreamReader } from '../../../admin/stream-reader.ts';
import type { LogPage, LogQuery, ShownLine } from '../../../asking/facts/log.ts';
import type { LineRing } from '../../../observability/line-ring.ts';
import { type PlaceHolder, Places } from '../../../runtime/fairness/places.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { OperationRefused } from '../../../tenants/operation-refused.ts';
import { LineStream } from './line-stream.ts';
import { shownLine } from './shown-line.ts';

/** The limit of open log streams. */
const LOG_STREAMS_MAX = 4;

/** Lines of other threads arrive up to this late. Milliseconds. */
const LATE_MS = 1_000;

export interface LogReadingOptions {
  /** The name of this server. */
  readonly node: string;
  readonly ring: LineRing;
  readonly timers: Timers;
  readonly log: Log;
}

/** Serves the last lines of this server's log, and streams new ones. */
export class LogReading implements Disposable {
  private readonly options: LogReadingOptions;
  private readonly open = new Set<LineStream>();
  private readonly places = new Places(LOG_STREAMS_MAX);

  constructor(options: LogReadingOptions) {
    this.options = options;
  }

  /** Lists lines of this server. */
  list({ beforeMs = Number.POSITIVE_INFINITY, limit, ...filter }: LogQuery): LogPage {
    const found: ShownLine[] = [];
    for (const line of this.options.ring.all().toReversed()) {
      const shown = shownLine(line, filter);
      if (shown === undefined || shown.atMs >= beforeMs) continue;
      found.push(shown);
      if (shown.atMs < (found[limit - 1]?.atMs ?? 0) - LATE_MS) break;
    }
    const sorted = found.toSorted((a, b) => a.atMs - b.atMs || a.n - b.n);
    const fromMs = sorted.at(-limit)?.atMs ?? 0;
    const lines = sorted.filter(({ atMs }) => atMs >= fromMs);
    return { lines, more: lines.length < found.length };
  }

  follow(
    { after, ...filter }: Parameters<Admin['followLog']>[0],
    reader: StreamReader,
  ): ReadableStream<Uint8Array> {
    const { caller, signal } = reader;
    const { lifeMs, ...owner } = ownerOf(reader);
    const holder: PlaceHolder = {
      ...owner,
      displaced() {
        stream.end('displaced');
        // At once, because its reader may never read to the end.
        close();
      },
    };
    if (!this.places.take(holder)) {
      const why = `Too many streams of the log: at most ${LOG_STREAMS_MAX}, the last for an admin of the whole server; close one`;
      throw new OperationRefused('over-limit', why);
    }
    const { node, ring, timers, log } = this.options;
    const who = { by: caller.user ?? caller.how };
    const stream = new LineStream({
      hello: { node, last: ring.last },
      timers,
      lifeMs,
      onClosed: () => close(),
    });
    const close = () => {
      if (!this.open.delete(stream)) return;
      stopListening();
      this.places.release(holder);
      log.info('Log stream closed', who);
    };
    const offer = (line: Parameters<typeof shownLine>[0]) => {
      const shown = shownLine(line, filter);
      if (shown !== undefined) stream.offer(shown);
    };
    if (after !== undefined) {
      for (const line of ring.all()) if (line.n > after) offer(line);
    }
    const stopListening = ring.listen(offer);
    this.open.add(stream);
    log.info('Log stream opened', who);
    // If the reader disconnects, the listener cancels the stream.
    signal.addEventListener('abort', () => stream.end('session-ended'), { once: true });
    return stream.body;
  }

  [Symbol.dispose](): void {
    for (const stream of this.open) stream.end('stopping');
  }
}
