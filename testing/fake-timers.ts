import type { Timers } from '../src/runtime/ports.ts';

/** Time that passes when a test says so. */
export class FakeTimers implements Timers {
  private nowMs: number;
  private readonly due = new Set<{ readonly atMs: number; readonly run: () => void }>();

  constructor(nowMs = 1_700_000_000_000) {
    this.nowMs = nowMs;
  }

  now(): number {
    return this.nowMs;
  }

  after(ms: number, run: () => void): () => void {
    const entry = { atMs: this.nowMs + ms, run };
    this.due.add(entry);
    return () => this.due.delete(entry);
  }

  /** Lets time pass, and each thing that is due finish what it set off before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.nowMs + ms;
    await quiet();
    for (;;) {
      const [next] = [...this.due]
        .filter(({ atMs }) => atMs <= end)
        .sort((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      this.due.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
      await quiet();
    }
    this.nowMs = end;
    await quiet();
  }
}

/** Lets everything run that waits for no timer. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}
