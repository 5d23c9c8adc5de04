import { type Signal, signal } from '@preact/signals';
import { apiUrl } from '../api/client.ts';
import type { StreamEvent } from '../api/event-stream.ts';
import { openStream } from '../api/stream-connection.ts';
import type { Values } from '../parts/charts/series.ts';
import { counted, duration } from '../parts/formats.ts';
import { LiveRows } from './live-rows.ts';
import type { Recorder, Recording } from './recording.ts';
import { groupOf, type LiveFilter, type LiveRecord, passes, streamQuery } from './records.ts';
import type { LiveSubject } from './subject.ts';

/** The counts of one second. */
export interface LiveCounts {
  /** Events of the second by group, exact. */
  readonly groups: Readonly<Record<string, number>>;
  /** How many of them the stream left out. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly total: number;
  readonly errors: number;
  /** The busiest channel or publish. */
  readonly busiest: { readonly name: string; readonly events: number } | undefined;
}

export type LiveState =
  | { readonly is: 'opening' | 'open' }
  | {
      readonly is: 'lost';
      readonly why: string;
      readonly sinceMs: number;
      readonly nextTryAtMs: number | undefined;
    };

const NO_COUNTS: LiveCounts = {
  groups: {},
  skipped: {},
  total: 0,
  errors: 0,
  busiest: undefined,
};

/** The number of seconds that are shown. */
const MINUTE = 60;

/** The pause after the last key before a filter opens a stream, because the server allows few streams. */
const TYPING_MS = 300;

/** The live stream of one app or instance: its rows, its counts, and whether it is open. */
export class LiveFeed {
  readonly rows: LiveRows;
  readonly state: Signal<LiveState> = signal({ is: 'opening' });
  readonly counts: Signal<LiveCounts> = signal(NO_COUNTS);
  /** Events per second of the last minute; `null` while the stream was lost. */
  readonly seconds: Signal<Values> = signal([]);
  /** Rises with every change of the rows. */
  readonly version = signal(0);
  /** Servers that do not answer, so that their events are missing. */
  readonly away: Signal<readonly string[]> = signal([]);
  readonly hidesPayloads = signal(false);
  /** Whether the user has paused the list. */
  readonly isPaused = signal(false);
  /** The recording that is shown instead of the stream. */
  readonly recording: Recording | undefined;
  /** Records everything that passes the filter. */
  readonly recorder: Signal<Recorder | undefined> = signal(undefined);
  readonly subject: LiveSubject;
  private readonly listeners = new Set<(record: LiveRecord) => void>();
  private filter: LiveFilter;
  private skipped: Record<string, number> = {};
  private stop: () => void = () => undefined;
  private reopening: ReturnType<typeof setTimeout> | undefined;
  private lastEventAtMs = Date.now();
  private countedAtMs = Date.now();

  constructor(subject: LiveSubject, filter: LiveFilter, recording?: Recording) {
    this.subject = subject;
    this.filter = filter;
    this.recording = recording;
    this.rows = new LiveRows(filter, recording?.rows);
  }

  /** Opens the stream. Returns a function that closes it. */
  start(): () => void {
    if (this.recording !== undefined) return () => undefined;
    this.open();
    return () => {
      clearTimeout(this.reopening);
      this.stop();
    };
  }

  /** Calls the listener with each new record. Returns a function that removes it. */
  onRecord(listener: (record: LiveRecord) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Filters the existing rows at once, and opens a stream whose whole room is for these kinds. */
  narrow(filter: LiveFilter): void {
    if (JSON.stringify(filter) === JSON.stringify(this.filter)) return;
    this.filter = filter;
    this.rows.narrow(filter);
    this.changed();
    if (this.recording !== undefined) return;
    clearTimeout(this.reopening);
    this.reopening = setTimeout(() => {
      this.stop();
      this.open();
    }, TYPING_MS);
  }

  pause(isPaused: boolean): void {
    this.isPaused.value = isPaused;
    this.hold(false);
  }

  /** Keeps the rows still while they are read. While the list is paused, they stay still anyway. */
  hold(isRead: boolean): void {
    this.rows.hold(isRead || this.isPaused.value);
    this.changed();
  }

  clear(): void {
    this.rows.clear();
    this.changed();
  }

  private open(): void {
    const { id, stream, groups } = this.subject;
    const url = apiUrl(stream.slice('GET '.length), { id }, streamQuery(this.filter, groups));
    this.stop = openStream(() => url, {
      event: (event) => this.take(event),
      isNeeded: () => this.recorder.value !== undefined,
      lost: (why, nextTryAtMs) => {
        const { value: before } = this.state;
        const sinceMs = before.is === 'lost' ? before.sinceMs : this.lastEventAtMs;
        this.state.value = { is: 'lost', why, sinceMs, nextTryAtMs };
        this.counts.value = NO_COUNTS;
      },
    });
  }

  private take({ name, data }: StreamEvent): void {
    const given = JSON.parse(data) as Record<string, unknown>;
    const nowMs = Date.now();
    switch (name) {
      case 'hello':
        this.takeHello(nowMs, given);
        break;
      case 'nodes':
        this.takeNodes(given);
        break;
      case 'batch':
        this.takeBatch(given);
        break;
      case 'counts':
        this.takeCounts(given);
        break;
      default:
        break;
    }
    this.lastEventAtMs = nowMs;
  }

  private takeHello(nowMs: number, given: Record<string, unknown>): void {
    const { value: before } = this.state;
    if (before.is === 'lost') {
      this.addGap(`${duration(nowMs - before.sinceMs)} missing: ${before.why}`);
    }
    this.state.value = { is: 'open' };
    this.hidesPayloads.value = given['payloads'] === 'hide';
    this.takeNodes(given);
  }

  private addGap(gap: string): void {
    this.rows.addGap(gap);
    this.recorder.value?.gap(gap);
    this.changed();
  }

  private takeNodes({ nodes }: { readonly nodes?: unknown }): void {
    const known = (nodes ?? []) as readonly { name: string; away: boolean }[];
    this.away.value = known.filter(({ away }) => away).map(({ name }) => name);
  }

  private takeBatch(given: Record<string, unknown>): void {
    const {
      events = [],
      updates = [],
      skipped = {},
      missed = 0,
    } = given as {
      events?: readonly LiveRecord[];
      updates?: readonly { n: number }[];
      skipped?: Readonly<Record<string, number>>;
      missed?: number;
    };
    const left = Object.entries(skipped);
    if (missed > 0) {
      const all = left.reduce((sum, [, number]) => sum + number, 0);
      this.addGap(`${counted(all, 'event')} missing: this page read too slowly`);
    }
    this.rows.add(events);
    for (const update of updates) this.rows.update(update);
    const { value: recorder } = this.recorder;
    // In a background tab, the timer that ends the recording is late.
    if (recorder !== undefined && recorder.over(Date.now()) === undefined) {
      for (const record of events) if (passes(record, this.filter)) recorder.take(record);
      for (const update of updates) recorder.update(update);
    }
    // What is missing for longer than a second has no place in the counts of one.
    for (const [kind, number] of missed > 0 ? [] : left) {
      const { id } = groupOf(kind);
      this.skipped[id] = (this.skipped[id] ?? 0) + number;
    }
    for (const record of events) for (const listener of this.listeners) listener(record);
    if (events.length > 0 || updates.length > 0) this.changed();
  }

  private takeCounts(given: Record<string, unknown>): void {
    const {
      kinds = {},
      channels = [],
      publishes = channels,
    } = given as {
      kinds?: Readonly<Record<string, number>>;
      channels?: readonly { name: string; events: number }[];
      publishes?: readonly { name: string; events: number }[];
    };
    const byGroup: Record<string, number> = {};
    let total = 0;
    for (const [kind, number] of Object.entries(kinds)) {
      const { id } = groupOf(kind);
      byGroup[id] = (byGroup[id] ?? 0) + number;
      total += number;
    }
    this.counts.value = {
      groups: byGroup,
      skipped: this.skipped,
      total,
      errors: byGroup['error'] ?? 0,
      busiest: publishes[0],
    };
    this.skipped = {};
    this.countSecond(total);
  }

  private countSecond(total: number): void {
    const nowMs = Date.now();
    const missing = Math.min(MINUTE, Math.round((nowMs - this.countedAtMs) / 1000) - 1);
    // The seconds of the stream and of the page may differ by one.
    const gap = missing > 1 && this.seconds.value.length > 0 ? missing : 0;
    const values = [...this.seconds.value, ...Array.from({ length: gap }, () => null), total];
    this.seconds.value = values.slice(-MINUTE);
    this.countedAtMs = nowMs;
  }

  private changed(): void {
    this.version.value++;
  }
}
