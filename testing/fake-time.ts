import type { Clock, Timers } from '../src/runtime/ports.ts';

interface Alarm {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
  isCancelled: boolean;
}

/** A clock with timers, which a test moves. */
export class FakeTime implements Timers {
  private nowMs: number;
  private readonly turns: number;
  private made = 0;
  private offMs = 0;
  /** A binary heap: the first alarm is the next one. */
  private readonly alarms: Alarm[] = [];

  /**
   * `turns` of the event loop pass after each alarm, so that what it sets off is done before the next one: 1 is
   * enough for promises, 20 for a store in memory.
   */
  constructor({ nowMs = 1_800_000_000_000, turns = 1 } = {}) {
    this.nowMs = nowMs;
    this.turns = turns;
  }

  now(): number {
    return this.nowMs + this.offMs;
  }

  /** The time that `setClock` does not change. */
  readonly monotonic: Clock = { now: () => this.nowMs };

  /** Changes what `now` says, as an operator who sets the clock; the time until each alarm stays the same. */
  setClock(byMs: number): void {
    this.offMs += byMs;
  }

  after(ms: number, run: () => void): () => void {
    if (!Number.isFinite(ms)) throw new Error(`${ms} ms is no time`);
    this.made += 1;
    const alarm = {
      atMs: this.nowMs + Math.max(0, ms),
      order: this.made,
      run,
      isCancelled: false,
    };
    this.put(alarm);
    return () => {
      alarm.isCancelled = true;
    };
  }

  /** Lets time pass. Everything that an alarm starts is done before the next alarm. */
  async advance(ms: number): Promise<void> {
    await this.runUntil(this.nowMs + ms, () => false);
  }

  /** Lets time pass until `isSo` holds, at most until `endMs`; returns whether it does. */
  async runUntil(endMs: number, isSo: () => boolean): Promise<boolean> {
    await settled(this.turns);
    for (;;) {
      if (isSo()) return true;
      const [next] = this.alarms;
      if (next === undefined || next.atMs > endMs) break;
      this.takeFirst();
      if (next.isCancelled) continue;
      this.nowMs = next.atMs;
      next.run();
      await settled(this.turns);
    }
    this.nowMs = Math.max(this.nowMs, endMs);
    return isSo();
  }

  private put(alarm: Alarm): void {
    const { alarms } = this;
    let place = alarms.push(alarm) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = alarms[parent];
      if (above === undefined || isBefore(above, alarm)) break;
      alarms[place] = above;
      alarms[parent] = alarm;
      place = parent;
    }
  }

  private takeFirst(): void {
    const { alarms } = this;
    const last = alarms.pop();
    if (last === undefined || alarms.length === 0) return;
    let place = 0;
    for (;;) {
      const [left, right] = [alarms[2 * place + 1], alarms[2 * place + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const below = isRight ? right : left;
      if (below === undefined || isBefore(last, below)) break;
      alarms[place] = below;
      place = 2 * place + (isRight ? 2 : 1);
    }
    alarms[place] = last;
  }
}

function isBefore(a: Alarm, b: Alarm): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** Lets everything run that waits for promises and not for time. */
export async function settled(turns = 1): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
