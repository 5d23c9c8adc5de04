import type { Timers } from '../ports.ts';

/**
 * Runs something again and again, one run after the other: when it is woken, and after the pause that a run returns. A run
 * that was woken meanwhile is repeated at once.
 */
export class Poller {
  private readonly timers: Timers;
  /** Returns the milliseconds until the next run; infinity: none until it is woken. Never throws. */
  private readonly run: () => Promise<number>;
  private running: Promise<void> = Promise.resolve();
  private isRunning = false;
  private isWanted = false;
  private isStopped = false;
  /** Set while a later run is planned. */
  private cancel: (() => void) | undefined;

  constructor(timers: Timers, run: () => Promise<number>) {
    this.timers = timers;
    this.run = run;
  }

  /** Runs now, or again after the current run. */
  wake(): void {
    this.isWanted = true;
    if (this.isRunning || this.isStopped) return;
    this.isRunning = true;
    this.cancel?.();
    this.cancel = undefined;
    this.running = this.runWhileWanted();
  }

  /** Runs after a pause. Does nothing if a run is planned or under way: that one says when the next one comes. */
  wakeLater(pauseMs: number): void {
    if (this.isRunning || this.isStopped || this.cancel !== undefined) return;
    this.cancel = this.timers.after(pauseMs, () => this.wake());
  }

  /** Settles after the current run. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancel?.();
    await this.running;
  }

  private async runWhileWanted(): Promise<void> {
    let pauseMs = 0;
    while (this.isWanted && !this.isStopped) {
      this.isWanted = false;
      pauseMs = await this.run();
    }
    this.isRunning = false;
    if (Number.isFinite(pauseMs)) this.wakeLater(pauseMs);
  }
}
