import type { PipelineTimers } from './ports.ts';

/** Does something again and again, never twice at the same time: when it is woken, and when it wants to itself. */
export class Poller {
  private readonly timers: PipelineTimers;
  /** Gives after how many milliseconds it is to be done again in any case. Never throws. */
  private readonly run: () => Promise<number>;
  private running: Promise<void> | undefined;
  private isWanted = false;
  private isStopped = false;
  private cancel: (() => void) | undefined;

  constructor(timers: PipelineTimers, run: () => Promise<number>) {
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

  /** Settles when it does nothing any more. */
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
