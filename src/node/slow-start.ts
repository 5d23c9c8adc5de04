import type { Log, Timers } from '../runtime/ports.ts';
import { every } from '../runtime/time/every.ts';

/** The pause between two lines. A start takes less than a second, but the store may be large or far away. */
const INTERVAL_MS = 5000;

/** Logs now and then which part a slow start waits for: a part that hangs logs nothing itself. */
export class SlowStart implements Disposable {
  private readonly log: Pick<Log, 'warn'>;
  private readonly timers: Timers;
  private readonly startedAtMs: number;
  private part = '';
  private readonly cancel: () => void;

  constructor(log: Pick<Log, 'warn'>, timers: Timers) {
    this.log = log;
    this.timers = timers;
    this.startedAtMs = timers.now();
    this.cancel = every(timers, INTERVAL_MS, () => this.report());
  }

  /** Names the part that the start waits for from now on. */
  waitsFor(part: string): void {
    this.part = part;
  }

  [Symbol.dispose](): void {
    this.cancel();
  }

  private report(): void {
    const seconds = Math.round((this.timers.now() - this.startedAtMs) / 1000);
    this.log.warn('The server is still starting', { waitsFor: this.part, seconds });
  }
}
