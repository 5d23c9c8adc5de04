import type { Timers } from '../../runtime/ports.ts';

/** Runs something again and again, one run after the other: when it is woken, and after the pause that a run returns. */
export class Poller {
  private readonly timers: Timers;
  /** Returns the milliseconds until the next run. Never throws. */
  private readonly run: () => Promise<number>;
  private running: Promise<void> | undefined;
  private isWanted = false;
  private isStopped = false;
  private cancel: (() => void) | undefined;

  constructor(timers: Timers, run: () => Promise<number>) {
    this.timers = timers;
    this.run = run;
  }

  wake(): void {
    this.isWanted = true;
    if (this.running !== undefined || this.isStopped) return;
    this.cancel?.();
    this.cancel = undefined;
    this.running = this.runWhileWanted();
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
    this.running = undefined;
    if (!this.isStopped) this.cancel = this.timers.after(pauseMs, () => this.wake());
  }
}
