import type { Timers } from '../../runtime/ports.ts';

interface Entry {
  /** When the last changes were reported, oldest first. */
  readonly reportedAtMs: number[];
  /** The newest change, if it is not reported yet. */
  pending: { report: () => void; readonly cancelTimer: () => void } | undefined;
}

/**
 * Limits how often changes of something are reported. The first changes in a window are reported at once. Of those
 * beyond the limit, only the last is reported, as soon as the limit allows. So receivers always end up with the
 * latest state.
 */
export class ChangeLimiter<Key> {
  private readonly timers: Timers;
  private readonly windowMs: number;
  /** In the order of their last reports. */
  private readonly entries = new Map<Key, Entry>();
  private cancelSweep: (() => void) | undefined;

  constructor(timers: Timers, windowMs: number) {
    this.timers = timers;
    this.windowMs = windowMs;
  }

  /** Reports a change: now, later, or not at all if a newer one replaces it. `limit`: reports per window. */
  changed(key: Key, limit: number, report: () => void): void {
    const entry = this.entries.get(key) ?? { reportedAtMs: [], pending: undefined };
    if (entry.pending !== undefined) {
      entry.pending.report = report;
      return;
    }
    const waitMs = this.waitMs(entry, limit);
    if (waitMs === 0) {
      this.reportNow(key, entry, report);
      return;
    }
    const pending = {
      report,
      cancelTimer: this.timers.after(waitMs, () => {
        entry.pending = undefined;
        this.reportNow(key, entry, pending.report);
      }),
    };
    entry.pending = pending;
  }

  /** Counts a report that cannot wait. Later ones wait for longer. */
  count(key: Key): void {
    this.countNow(key, this.entries.get(key) ?? { reportedAtMs: [], pending: undefined });
  }

  /** Drops a change that is not reported yet. */
  cancel(key: Key): void {
    const entry = this.entries.get(key);
    entry?.pending?.cancelTimer();
    if (entry !== undefined) entry.pending = undefined;
  }

  /** The number of remembered keys: those with a report in the last window. */
  get size(): number {
    return this.entries.size;
  }

  private reportNow(key: Key, entry: Entry, report: () => void): void {
    this.countNow(key, entry);
    report();
  }

  private countNow(key: Key, entry: Entry): void {
    this.forgetOld(entry);
    entry.reportedAtMs.push(this.timers.now());
    this.entries.delete(key);
    this.entries.set(key, entry);
    this.cancelSweep ??= this.timers.after(this.windowMs, () => this.sweep());
  }

  /** Milliseconds until the limit allows one more report. */
  private waitMs(entry: Entry, limit: number): number {
    this.forgetOld(entry);
    const { reportedAtMs } = entry;
    const oldestMs = reportedAtMs[reportedAtMs.length - limit];
    return oldestMs === undefined ? 0 : oldestMs + this.windowMs - this.timers.now();
  }

  private forgetOld({ reportedAtMs }: Entry): void {
    const nowMs = this.timers.now();
    // A time in the future comes from before the clock was set back.
    const isOver = (atMs: number | undefined) =>
      atMs !== undefined && (atMs <= nowMs - this.windowMs || atMs > nowMs);
    while (isOver(reportedAtMs[0])) reportedAtMs.shift();
  }

  private sweep(): void {
    this.cancelSweep = undefined;
    const nowMs = this.timers.now();
    for (const [key, { reportedAtMs, pending }] of this.entries) {
      const lastMs = reportedAtMs.at(-1) ?? 0;
      if (pending !== undefined || (lastMs > nowMs - this.windowMs && lastMs <= nowMs)) break;
      this.entries.delete(key);
    }
    if (this.entries.size > 0) {
      this.cancelSweep = this.timers.after(this.windowMs, () => this.sweep());
    }
  }
}
