import { unsigned } from '../channels/signatures/unsigned.ts';
import type { Tap } from '../channels/watching/tap.ts';
import { type PushTap, type PushTapKind, pushTapKinds } from '../push/watching/push-tap.ts';
import type { Clock } from '../runtime/ports.ts';
import { DATA_BYTES, NAMES_COUNTED_MAX, RECEIVED_PER_TICK, type RecordShare } from './limits.ts';
import {
  type AppTick,
  busiest,
  isWanted,
  type TapCounts,
  type TapRecord,
  type WatchedEvent,
  type WatchedKind,
  type WatchFilter,
} from './records.ts';

/** The limit of records of an app on one loop per tick. */
export interface TapShare extends RecordShare {
  readonly characters: number;
}

export interface AppTapOptions {
  readonly appId: string;
  readonly clock: Clock;
  /** Identifies this loop among those of all servers. */
  readonly loop: string;
  /** Makes a name for a record that is unique across loops. */
  readonly newTrace: () => string;
}

/** Kinds of events that may flood a stream. */
const EVENTS: ReadonlySet<WatchedKind> = new Set(['api', 'client']);

const PUSH: ReadonlySet<WatchedKind> = new Set<PushTapKind>(pushTapKinds);

/** The limits of characters in a name and in a sentence. */
const NAME_MAX = 200;
const SENTENCE_MAX = 500;

/** The size of a record in addition to its texts. Characters. */
const RECORD_CHARACTERS = 200;

const ENCRYPTED = 'private-encrypted-';

const bytesOfData = new Uint8Array(DATA_BYTES);
const encoder = new TextEncoder();

/** The tap of one app or instance on one loop. */
export class AppTap implements Tap, PushTap {
  filters: readonly WatchFilter[] = [];
  share: TapShare = { records: 0, events: 0, characters: 0 };

  private readonly options: AppTapOptions;
  private records: TapRecord[] = [];
  private events = 0;
  private characters = 0;
  /** The records of this tick by kind. Only for an instance. */
  private readonly recorded = new Map<WatchedKind, number>();
  /** The records of this tick whose receivers are counted. */
  private readonly traced = new Map<string, TapRecord>();
  private readonly receivedElsewhere = new Map<string, number>();
  private skipped = new Map<WatchedKind, number>();
  private readonly kinds = new Map<WatchedKind, number>();
  private readonly channels = new Map<string, number>();
  private readonly names = new Map<string, number>();

  constructor(options: AppTapOptions) {
    this.options = options;
  }

  record(event: WatchedEvent): string | undefined {
    this.count(event);
    if (!this.filters.some((filter) => isWanted(filter, event))) return undefined;
    if (!this.hasRoomFor(event.kind)) {
      add(this.skipped, event.kind);
      return undefined;
    }
    const isEvent = EVENTS.has(event.kind);
    const trace = isEvent ? this.options.newTrace() : undefined;
    const record = recordOf(event, this.options.clock.now(), trace);
    this.records.push(record);
    add(this.recorded, record.kind);
    this.characters += charactersOf(record);
    if (trace === undefined) return undefined;
    this.events++;
    this.traced.set(trace, record);
    return trace;
  }

  sent(trace: string, receivers: number): void {
    const record = this.traced.get(trace);
    if (record?.receivers !== undefined) {
      record.receivers += receivers;
    } else if (
      this.receivedElsewhere.size < RECEIVED_PER_TICK ||
      this.receivedElsewhere.has(trace)
    ) {
      add(this.receivedElsewhere, trace, receivers);
    }
  }

  /** Returns what was recorded since the last tick; `undefined` if there is nothing. */
  tick(withCounts: boolean): AppTick | undefined {
    const { records, receivedElsewhere, skipped } = this;
    const counts = withCounts ? this.takeCounts() : undefined;
    if (records.length + receivedElsewhere.size + skipped.size === 0 && counts === undefined) {
      return undefined;
    }
    const tick = {
      appId: this.options.appId,
      loop: this.options.loop,
      records,
      heard: [...receivedElsewhere],
      skipped: Object.fromEntries(skipped),
      counts,
    };
    this.records = [];
    this.events = 0;
    this.characters = 0;
    this.recorded.clear();
    this.traced.clear();
    receivedElsewhere.clear();
    skipped.clear();
    return tick;
  }

  private count({ kind, channel, event, publish, reason }: WatchedEvent): void {
    add(this.kinds, kind);
    const where = publish ?? channel;
    const what = PUSH.has(kind) ? reason : event;
    if (where !== undefined) addBounded(this.channels, where);
    if (what !== undefined) addBounded(this.names, what);
  }

  private hasRoomFor(kind: WatchedKind): boolean {
    const { records, events, characters } = this.share;
    if (this.records.length >= records || this.characters >= characters) return false;
    // Any kind may occur once for each of 100,000 devices, so each kind gets at most half of the room that the others
    // leave.
    if (PUSH.has(kind)) return (this.recorded.get(kind) ?? 0) < records - this.records.length;
    if (!EVENTS.has(kind)) return true;
    // Large events must leave room for the others.
    return this.events < events && this.characters < (characters * events) / records;
  }

  private takeCounts(): TapCounts {
    const counts = {
      kinds: Object.fromEntries(this.kinds),
      channels: busiest(this.channels),
      names: busiest(this.names),
    };
    for (const map of [this.kinds, this.channels, this.names]) map.clear();
    return counts;
  }
}

function recordOf(event: WatchedEvent, atMs: number, trace: string | undefined): TapRecord {
  const { data, channel } = event;
  const isEncrypted = channel?.startsWith(ENCRYPTED) === true;
  return {
    ...event,
    user: cut(event.user, NAME_MAX),
    channel: cut(channel, NAME_MAX),
    event: cut(event.event, NAME_MAX),
    reason: event.reason === undefined ? undefined : cut(unsigned(event.reason), SENTENCE_MAX),
    device: cut(event.device, NAME_MAX),
    publish: cut(event.publish, NAME_MAX),
    target: cut(event.target, SENTENCE_MAX),
    words: cut(event.words, SENTENCE_MAX),
    // A reader of the stream must not be able to collect encrypted data for later decryption.
    data: data === undefined || isEncrypted ? undefined : cutData(data),
    bytes: data === undefined ? undefined : Buffer.byteLength(data),
    atMs,
    trace,
    receivers: trace === undefined ? undefined : 0,
  };
}

function cut(text: string | undefined, most: number): string | undefined {
  return text === undefined || text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function cutData(data: string): string {
  if (data.length * 3 <= DATA_BYTES) return data;
  return data.slice(0, encoder.encodeInto(data.slice(0, DATA_BYTES), bytesOfData).read);
}

function charactersOf(record: TapRecord): number {
  let characters = RECORD_CHARACTERS;
  for (const value of Object.values(record)) {
    if (typeof value === 'string') characters += value.length;
  }
  return characters;
}

function add<Key>(sums: Map<Key, number>, key: Key, by = 1): void {
  sums.set(key, (sums.get(key) ?? 0) + by);
}

/** Counts a name, unless too many other names are counted. */
function addBounded(sums: Map<string, number>, name: string): void {
  const sum = sums.get(name);
  if (sum !== undefined) sums.set(name, sum + 1);
  else if (sums.size < NAMES_COUNTED_MAX && name.length <= NAME_MAX) sums.set(name, 1);
}
