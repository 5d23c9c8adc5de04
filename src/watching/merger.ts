import {
  type AppTick,
  addByKind,
  type ByKind,
  busiest,
  type NamedCount,
  type TapCounts,
  type TapRecord,
  type WatchedKind,
} from './records.ts';

/** A record as it is sent to watchers. */
export interface StreamRecord extends Omit<TapRecord, 'trace'> {
  /** The number of the record within its app. */
  readonly n: number;
  /** The server where it happened. */
  readonly node: string;
}

/** Later information about an earlier record. */
export interface RecordUpdate {
  readonly n: number;
  readonly receivers?: number | undefined;
  readonly near?: string | undefined;
  /** Why an event had no receivers, and what to do about it. */
  readonly reason?: string | undefined;
  readonly advice?: string | undefined;
}

/** What is sent to the watchers of an app together. */
export interface StreamBatch {
  readonly events: readonly StreamRecord[];
  readonly updates: readonly RecordUpdate[];
  readonly skipped: ByKind;
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

/** What a loop of a server has recorded, and when that can be sent. */
export interface Seen {
  readonly node: string;
  readonly tick: AppTick;
  readonly nowMs: number;
  readonly dueMs: number;
}

/** A record whose receivers are still being counted. */
interface Traced {
  readonly record: Writable<StreamRecord>;
  readonly untilMs: number;
  receivers: number;
  isSent: boolean;
}

interface ShownCount {
  readonly loop: string;
  readonly atMs: number;
}

/** How long loops may report receivers of a record. Milliseconds. */
const TRACED_MS = 3000;

/** The limit of receivers that were reported before their record has arrived. */
const EARLY_MAX = 2000;

/** Within this time, several loops of a cluster report the same subscription count. Milliseconds. */
const SAME_COUNT_MS = 2000;

/**
 * Merges what several loops have recorded about one app. A record waits until the other loops had time to report its
 * receivers. What they report later is sent as an update.
 */
export class Merger {
  private numbers = 0;
  private waiting: { readonly record: Writable<StreamRecord>; readonly dueMs: number }[] = [];
  private readonly traced = new Map<string, Traced>();
  private early = new Map<string, { receivers: number; readonly untilMs: number }>();
  private readonly updates = new Map<number, RecordUpdate>();
  private skipped: Partial<Record<WatchedKind, number>> = {};
  private counts: TapCounts[] = [];
  /** The subscription counts that were shown recently, by channel and count. */
  private readonly lastCounts = new Map<string, ShownCount>();

  /** Adds what a loop of a server has recorded. The records are sent at `dueMs`. */
  add({ node, tick, nowMs, dueMs }: Seen): void {
    const { records, heard: receivedElsewhere, skipped, counts } = tick;
    for (const { trace, ...record } of records) {
      if (record.kind === 'count' && this.isSameCount(record, tick.loop)) continue;
      // The number is assigned when it is sent.
      const numbered = { n: 0, node, ...record };
      this.waiting.push({ record: numbered, dueMs });
      if (trace === undefined) continue;
      const early = this.early.get(trace);
      this.early.delete(trace);
      const receivers = (record.receivers ?? 0) + (early?.receivers ?? 0);
      numbered.receivers = receivers;
      const untilMs = nowMs + TRACED_MS;
      this.traced.set(trace, { record: numbered, untilMs, receivers, isSent: false });
    }
    for (const [trace, receivers] of receivedElsewhere) this.addReceivers(trace, receivers, nowMs);
    addByKind(this.skipped, skipped);
    if (counts !== undefined) this.counts.push(counts);
  }

  /** Returns what can be sent now. */
  take(nowMs: number): StreamBatch {
    const sent = this.waiting.filter(({ dueMs }) => dueMs <= nowMs);
    this.waiting = this.waiting.filter(({ dueMs }) => dueMs > nowMs);
    // Loops report at different times.
    const events = sent.map(({ record }) => record).sort((a, b) => a.atMs - b.atMs);
    for (const record of events) record.n = ++this.numbers;
    const isSent = new Set<StreamRecord>(events);
    for (const [trace, traced] of this.traced) {
      if (isSent.has(traced.record)) traced.isSent = true;
      if (traced.untilMs <= nowMs) this.traced.delete(trace);
    }
    for (const [trace, { untilMs }] of this.early) {
      if (untilMs <= nowMs) this.early.delete(trace);
    }
    for (const [count, { atMs }] of this.lastCounts) {
      if (atMs + 2 * SAME_COUNT_MS <= nowMs) this.lastCounts.delete(count);
    }
    const batch = { events, updates: [...this.updates.values()], skipped: this.skipped };
    this.updates.clear();
    this.skipped = {};
    return batch;
  }

  /** Returns the counts of all loops since the last call. */
  takeCounts(): TapCounts {
    const { counts } = this;
    this.counts = [];
    const kinds: Partial<Record<WatchedKind, number>> = {};
    for (const one of counts) addByKind(kinds, one.kinds);
    return {
      kinds,
      channels: addUp(counts.flatMap(({ channels }) => channels)),
      names: addUp(counts.flatMap(({ names }) => names)),
    };
  }

  private addReceivers(trace: string, receivers: number, nowMs: number): void {
    const traced = this.traced.get(trace);
    if (traced === undefined) {
      const early = this.early.get(trace);
      if (early !== undefined) early.receivers += receivers;
      else if (this.early.size < EARLY_MAX) {
        this.early.set(trace, { receivers, untilMs: nowMs + TRACED_MS });
      }
      return;
    }
    traced.receivers += receivers;
    const { record, isSent, receivers: sum } = traced;
    // A copy: the record that was sent must not change.
    if (isSent) this.updates.set(record.n, { n: record.n, receivers: sum });
    else record.receivers = sum;
  }

  /** Whether another loop has reported the same count. The same count again from one loop is a new event. */
  private isSameCount({ channel, count, atMs }: Omit<TapRecord, 'trace'>, loop: string): boolean {
    const key = `${channel} ${count}`;
    const last = this.lastCounts.get(key);
    if (last !== undefined && last.loop !== loop && Math.abs(atMs - last.atMs) < SAME_COUNT_MS) {
      return true;
    }
    this.lastCounts.set(key, { loop, atMs });
    return false;
  }
}

function addUp(all: readonly NamedCount[]): readonly NamedCount[] {
  const sums = new Map<string, number>();
  for (const { name, events } of all) sums.set(name, (sums.get(name) ?? 0) + events);
  return busiest(sums);
}
