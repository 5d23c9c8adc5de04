import type { TapKind } from '../channels/watching/tap.ts';
import { WAITING_CHARACTERS_MAX, WAITING_RECORDS_MAX } from './limits.ts';
import type { Batch, RecordUpdate, StreamRecord } from './merger.ts';
import { addByKind, isWanted, type TapCounts, type WatchFilter } from './records.ts';

/** What one reader wants to see. */
export interface StreamQuery {
  readonly appId: string;
  readonly filter: WatchFilter;
  /** Must be in a name, a reason or the data; in any case. */
  readonly text?: string | undefined;
  /** Whether the reader may see data. */
  readonly showsPayloads: boolean;
}

/** Why a stream ends. */
export type StreamEnd = 'time' | 'stopping' | 'app-gone' | 'session-ended';

/** A server, and whether it was not heard of for some seconds. */
export interface StreamNode {
  readonly name: string;
  readonly away: boolean;
}

export interface WatchStreamOptions {
  readonly query: StreamQuery;
  /** The first event of the stream. */
  readonly hello: object;
  /** Called with the number of records that a reader was too slow for. */
  readonly onSkipped: (records: number) => void;
  /** Called once, when nobody reads any more. */
  readonly onClosed: () => void;
}

/** Records that were sent and may be updated. */
const SENT_MAX = 500;

const encoder = new TextEncoder();

/** The stream of one reader. What waits for it is bounded: a slow reader gets the newest. */
export class WatchStream {
  readonly query: StreamQuery;
  readonly body: ReadableStream<Uint8Array>;
  private readonly options: WatchStreamOptions;
  private events: { readonly record: StreamRecord; readonly characters: number }[] = [];
  private characters = 0;
  private skipped: Partial<Record<TapKind, number>> = {};
  private updates = new Map<number, RecordUpdate>();
  /** The records that the reader has or will get, the oldest first. */
  private readonly known = new Set<number>();
  private counts: TapCounts | undefined;
  private nodes: readonly StreamNode[] | undefined;
  private ending: StreamEnd | undefined;
  private isClosed = false;
  /** Set while the reader waits. */
  private wake: (() => void) | undefined;
  private isGreeted = false;

  constructor(options: WatchStreamOptions) {
    this.options = options;
    this.query = options.query;
    this.body = new ReadableStream<Uint8Array>(
      { pull: (controller) => this.pull(controller), cancel: () => this.closed() },
      // Nothing is made before the reader asks for it.
      { highWaterMark: 0 },
    );
  }

  /** Adds what the reader wants to see of a batch. */
  offer({ events, updates, skipped }: Batch): void {
    for (const record of events) if (this.wants(record)) this.add(record);
    for (const update of updates) {
      if (this.known.has(update.n)) {
        this.updates.set(update.n, { ...this.updates.get(update.n), ...update });
      }
    }
    const { kinds } = this.query.filter;
    for (const [kind, count] of Object.entries(skipped) as [TapKind, number][]) {
      if (kinds === undefined || kinds.includes(kind)) addByKind(this.skipped, { [kind]: count });
    }
    this.wakeUp();
  }

  offerCounts(counts: TapCounts): void {
    this.counts = counts;
    this.wakeUp();
  }

  offerNodes(nodes: readonly StreamNode[]): void {
    this.nodes = nodes;
    this.wakeUp();
  }

  /** Ends the stream after what waits. */
  end(why: StreamEnd): void {
    this.ending ??= why;
    this.wakeUp();
  }

  private wants(record: StreamRecord): boolean {
    const { filter, text, showsPayloads } = this.query;
    if (!isWanted(filter, record)) return false;
    if (text === undefined) return true;
    const { channel, event, user, reason, data } = record;
    const wanted = text.toLowerCase();
    return [channel, event, user, reason, showsPayloads ? data : undefined].some(
      (shown) => shown?.toLowerCase().includes(wanted) === true,
    );
  }

  private add(record: StreamRecord): void {
    const shown = this.query.showsPayloads ? record : { ...record, data: undefined };
    // Names and sentences are short beside the data.
    const characters = 500 + (shown.data?.length ?? 0);
    this.events.push({ record: shown, characters });
    this.characters += characters;
    this.known.add(record.n);
    if (this.known.size > SENT_MAX) for (const n of this.known.keys().take(1)) this.known.delete(n);
    let dropped = 0;
    while (
      this.events.length - dropped > WAITING_RECORDS_MAX ||
      this.characters > WAITING_CHARACTERS_MAX
    ) {
      const oldest = this.events[dropped];
      if (oldest === undefined) break;
      dropped++;
      this.characters -= oldest.characters;
      this.known.delete(oldest.record.n);
      addByKind(this.skipped, { [oldest.record.kind]: 1 });
    }
    if (dropped === 0) return;
    this.events.splice(0, dropped);
    this.options.onSkipped(dropped);
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
    const parts: string[] = [];
    if (!this.isGreeted) parts.push(eventText('hello', this.options.hello));
    this.isGreeted = true;
    if (this.nodes !== undefined) parts.push(eventText('nodes', { nodes: this.nodes }));
    const { events, updates, skipped } = this;
    if (events.length + updates.size > 0 || Object.keys(skipped).length > 0) {
      const batch = {
        events: events.map(({ record }) => record),
        updates: [...updates.values()],
        skipped,
      };
      parts.push(eventText('batch', batch));
    }
    if (this.counts !== undefined) parts.push(eventText('counts', this.counts));
    this.nodes = undefined;
    this.counts = undefined;
    this.events = [];
    this.characters = 0;
    this.updates = new Map();
    this.skipped = {};
    return parts.join('');
  }

  private wakeUp(): void {
    const { wake } = this;
    this.wake = undefined;
    wake?.();
  }

  private closed(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.wakeUp();
    this.options.onClosed();
  }
}

/** Writes one server-sent event. JSON has no line feeds. */
function eventText(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
