import type { Timers } from '../../runtime/ports.ts';

interface Entry {
  /** When the last changes were told, the oldest first. */
  readonly toldAtMs: number[];
  /** The newest change that was not told yet. */
  pending: { tell: () => void; readonly cancelTimer: () => void } | undefined;
}

/**
 * Tells changes of something, but only so often: the first ones at once, and of those that come too fast the last
 * one as soon as it may be told. So whoever listens ends up with the truth, however often it changes.
 */
export class ChangeLimiter<Key> {
  private readonly timers: Timers;
  private readonly windowMs: number;
  /** In the order in which they were told last. */
  private readonly entries = new Map<Key, Entry>();
  private cancelSweep: (() => void) | undefined;

  constructor(timers: Timers, windowMs: number) {
    this.timers = timers;
    this.windowMs = windowMs;
  }

  /** Something changed. `tell` runs now or later, or not at all if a newer change came. `timesMax`: in one window. */
  changed(key: Key, timesMax: number, tell: () => void): void {
    const entry = this.entries.get(key) ?? { toldAtMs: [], pending: undefined };
    if (entry.pending !== undefined) {
      entry.pending.tell = tell;
      return;
    }
    const waitMs = this.waitMs(entry, timesMax);
    if (waitMs === 0) {
      this.tellNow(key, entry, tell);
      return;
    }
    const pending = {
      tell,
      cancelTimer: this.timers.after(waitMs, () => {
        entry.pending = undefined;
        this.tellNow(key, entry, pending.tell);
      }),
    };
    entry.pending = pending;
  }

  /** Forgets the change that was not told yet. */
  cancel(key: Key): void {
    const entry = this.entries.get(key);
    entry?.pending?.cancelTimer();
    if (entry !== undefined) entry.pending = undefined;
  }

  /** How many things are remembered: those that changed within one window. */
  get size(): number {
    return this.entries.size;
  }

  private tellNow(key: Key, entry: Entry, tell: () => void): void {
    entry.toldAtMs.push(this.timers.now());
    this.entries.delete(key);
    this.entries.set(key, entry);
    this.cancelSweep ??= this.timers.after(this.windowMs, () => this.sweep());
    tell();
  }

  /** Milliseconds until one more change may be told. */
  private waitMs({ toldAtMs }: Entry, timesMax: number): number {
    const nowMs = this.timers.now();
    // What lies ahead was told before the clock was set back.
    const isOver = (atMs: number | undefined) =>
      atMs !== undefined && (atMs <= nowMs - this.windowMs || atMs > nowMs);
    while (isOver(toldAtMs[0])) toldAtMs.shift();
    const oldestMs = toldAtMs[toldAtMs.length - timesMax];
    return oldestMs === undefined ? 0 : oldestMs + this.windowMs - nowMs;
  }

  private sweep(): void {
    this.cancelSweep = undefined;
    const nowMs = this.timers.now();
    for (const [key, { toldAtMs, pending }] of this.entries) {
      const lastMs = toldAtMs.at(-1) ?? 0;
      if (pending !== undefined || (lastMs > nowMs - this.windowMs && lastMs <= nowMs)) break;
      this.entries.delete(key);
    }
    if (this.entries.size > 0) {
      this.cancelSweep = this.timers.after(this.windowMs, () => this.sweep());
    }
  }
}
