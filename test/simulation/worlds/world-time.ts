import type { Timers } from '../../../src/runtime/ports.ts';
import type { Kernel } from '../kernel/kernel.ts';

/** When worlds begin. */
const START_MS = 1_800_000_000_000;

/** The time of a world, for parts of it that no server owns: what they set goes off although a server has died. */
export class WorldTime implements Timers {
  private readonly kernel: Kernel;

  constructor(kernel: Kernel) {
    this.kernel = kernel;
  }

  now(): number {
    return START_MS + this.kernel.nowMs;
  }

  after(ms: number, run: () => void): () => void {
    if (!Number.isFinite(ms)) throw new Error(`${ms} ms is no time`);
    return this.kernel.after(ms, run, this.kernel.world);
  }

  /** Lets time pass. Everything that an alarm starts is done before the next alarm. */
  advance(ms: number): void {
    this.kernel.runUntil(this.kernel.nowMs + ms);
  }
}
