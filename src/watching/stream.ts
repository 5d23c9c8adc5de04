import { EventStream, eventText } from '../runtime/event-stream.ts';
import type { Timers } from '../runtime/ports.ts';
import { RecentSet } from '../runtime/recent.ts';
import { WAITING_CHARACTERS_MAX, WAITING_RECORDS_MAX } from './limits.ts';
import type { RecordUpdate, StreamBatch, StreamRecord } from './merger.ts';
import {
  addByKind,
  instanceIn,
  isWanted,
  type TapCounts,
  type WatchedKind,
  type WatchFilter,
} from './records.ts';

/** The filter of one reader. */
export interface StreamQuery {
  /** The id of an app, or `watchedInstance`. */
  readonly appId: string;
  readonly filter: WatchFilter;
  /** Must occur in a name, a reason or the data. Not case-sensitive. */
  readonly text?: string | undefined;
  /** Whether the reader may see data, and the users of a publish. */
  readonly showsPayloads: boolean;
}

/** Why a stream ends. */
export type StreamEnd =
  | 'time'
  | 'stopping'
  | 'app-gone'
  | 'instance-gone'
  | 'session-ended'
  /** Another reader, who has fewer streams, got its place. */
  | 'displaced';

/** A server, and whether it has been silent for some seconds. */
export interface StreamNode {
  readonly name: string;
  readonly away: boolean;
}

export interface WatchStreamOptions {
  readonly timers: Timers;
  readonly query: StreamQuery;
  /** The first event of the stream. */
  readonly hello: object;
  /** Called with the number of records that were dropped because the reader was too slow. */
  readonly onSkipped: (records: number) => void;
  /** Called once, when the reader is gone. */
  readonly onClosed: () => void;
}

/** The limit of sent records that can still be updated. */
const SENT_MAX = 500;

/** The stream of one reader. Its queue is bounded: a slow reader loses the oldest records. */
export class WatchStream {
  readonly query: StreamQuery;
  private readonly stream: EventStream<StreamEnd>;
  private readonly options: WatchStreamOptions;
  private events: { readonly record: StreamRecord; readonly characters: number }[] = [];
  private characters = 0;
  private skipped: Partial<Record<WatchedKind, number>> = {};
  /** How many of the skipped ones were dropped here. */
  private missed = 0;
  private updates = new Map<number, RecordUpdate>();
  /** The records that the reader has or will get, oldest first. */
  private readonly known = new RecentSet<number>(SENT_MAX);
  private counts: TapCounts | undefined;
  private nodes: readonly StreamNode[] | undefined;
  private isGreeted = false;

  constructor(options: WatchStreamOptions) {
    this.options = options;
    this.query = options.query;
    const { timers, onClosed } = options;
    this.stream = new EventStream({ timers, take: () => this.take(), onClosed });
  }

  get body(): ReadableStream<Uint8Array> {
    return this.stream.body;
  }

  /** Adds the records of a batch that the reader wants to see. */
  offer({ events, updates, skipped }: StreamBatch): void {
    const { filter } = this.query;
    for (const record of events) {
      if (!isWanted(filter, record)) continue;
      const shown = this.shown(record);
      if (this.hasText(shown)) this.add(shown);
    }
    for (const update of updates) {
      if (this.known.has(update.n)) {
        this.updates.set(update.n, { ...this.updates.get(update.n), ...update });
      }
    }
    const { kinds } = filter;
    for (const [kind, count] of Object.entries(skipped) as [WatchedKind, number][]) {
      if (kinds === undefined || kinds.includes(kind)) addByKind(this.skipped, { [kind]: count });
    }
    this.stream.wakeUp();
  }

  offerCounts(counts: TapCounts): void {
    this.counts = counts;
    this.stream.wakeUp();
  }

  offerNodes(nodes: readonly StreamNode[]): void {
    this.nodes = nodes;
    this.stream.wakeUp();
  }

  /** Ends the stream after the reader has read everything. */
  end(why: StreamEnd): void {
    this.stream.end(why);
  }

  /** The part of a record that the reader may see. */
  private shown(record: StreamRecord): StreamRecord {
    if (this.query.showsPayloads) return record;
    const target = record.target?.startsWith('users:') ? undefined : record.target;
    return { ...record, data: undefined, target };
  }

  private hasText(shown: StreamRecord): boolean {
    const wanted = this.query.text?.toLowerCase();
    if (wanted === undefined) return true;
    const { channel, event, user, reason, data, publish, device, target, words } = shown;
    return [channel, event, user, reason, data, publish, device, target, words].some(
      (field) => field?.toLowerCase().includes(wanted) === true,
    );
  }

  private add(record: StreamRecord): void {
    // Names and sentences are short compared with the data.
    const characters = 500 + (record.data?.length ?? 0);
    this.events.push({ record, characters });
    this.characters += characters;
    this.known.add(record.n);
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
    this.missed += dropped;
    this.options.onSkipped(dropped);
  }

  /** Returns everything that is queued, as text. */
  private take(): string {
    const parts: string[] = [];
    if (!this.isGreeted) parts.push(eventText('hello', this.options.hello));
    this.isGreeted = true;
    if (this.nodes !== undefined) parts.push(eventText('nodes', { nodes: this.nodes }));
    const { events, updates, skipped, missed } = this;
    if (events.length + updates.size > 0 || Object.keys(skipped).length > 0) {
      const batch = {
        events: events.map(({ record }) => record),
        updates: [...updates.values()],
        skipped,
        missed,
      };
      parts.push(eventText('batch', batch));
    }
    if (this.counts !== undefined) parts.push(eventText('counts', this.shownCounts(this.counts)));
    this.nodes = undefined;
    this.counts = undefined;
    this.events = [];
    this.characters = 0;
    this.updates = new Map();
    this.skipped = {};
    this.missed = 0;
    return parts.join('');
  }

  private shownCounts({ kinds, channels, names }: TapCounts): object {
    return instanceIn(this.query.appId) === undefined
      ? { kinds, channels, names }
      : { kinds, publishes: channels, reasons: names };
  }
}
