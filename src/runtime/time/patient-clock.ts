import type { Clock } from '../ports.ts';

/** The system's clock is believed at once if it is ahead by less than this. */
const STEP_MS = 60_000;

/** How long it must be ahead otherwise. */
const BELIEVED_AFTER_MS = 24 * 3_600_000;

export interface PatientClockOptions {
  /** The system's clock, which may be set. */
  readonly system: Clock;
  readonly monotonic: Clock;
}

/**
 * The clock by which what is old is deleted. If the system's clock is set forward, this clock follows a day later: with a
 * wrong date, everything would be old. If the system's clock is set back, it follows at once.
 */
export class PatientClock implements Clock {
  private readonly options: PatientClockOptions;
  /** The believed difference of the system's clock from the monotonic one. */
  private differenceMs: number;
  /** Since when the system's clock has been ahead of what is believed, in monotonic milliseconds. */
  private aheadSinceMs: number | undefined;

  constructor(options: PatientClockOptions) {
    this.options = options;
    this.differenceMs = options.system.now() - options.monotonic.now();
  }

  now(): number {
    const { system, monotonic } = this.options;
    const monotonicMs = monotonic.now();
    const differenceMs = system.now() - monotonicMs;
    if (differenceMs < this.differenceMs + STEP_MS) this.believe(differenceMs);
    else {
      this.aheadSinceMs ??= monotonicMs;
      if (monotonicMs - this.aheadSinceMs >= BELIEVED_AFTER_MS) this.believe(differenceMs);
    }
    return monotonicMs + this.differenceMs;
  }

  private believe(differenceMs: number): void {
    this.differenceMs = differenceMs;
    this.aheadSinceMs = undefined;
  }
}
