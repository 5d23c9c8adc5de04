/** When a publish sends already: from when until when, in milliseconds since 1970. Ascending and apart from each other. */
export type TakenTimes = readonly (readonly [fromMs: number, untilMs: number])[];

/** The limit of notifications per second that a publish may ask for. */
export const PER_SECOND_MAX = 1_000_000;

/** Pages that are later than this lose their time, and get another one at the end. */
export const LATE_MS = 1_000;

/**
 * Gives the devices of a publish their times, so that it sends no more notifications per second than its `perSecond`. Some devices
 * may have to wait for a time of their own, so there are gaps, which are used by others.
 */
export class Pace {
  readonly perSecond: number;
  private times: TakenTimes;

  constructor(perSecond: number, taken: TakenTimes = []) {
    this.perSecond = perSecond;
    this.times = taken;
  }

  /** What must be kept to continue elsewhere. */
  get taken(): TakenTimes {
    return this.times;
  }

  /** The first time from `fromMs` on at which nothing is sent. */
  freeFrom(fromMs: number): number {
    const at = this.times.find(([from, until]) => from <= fromMs && fromMs < until);
    return Math.round(at?.[1] ?? fromMs);
  }

  /**
   * Takes the first free time from `fromMs` on for some devices, and returns it. They are sent to together, and nothing
   * else is sent for as long as their number takes.
   */
  take(fromMs: number, devices: number): number {
    // What touches it counts, so that the list stays short.
    const at = this.times.findIndex(([from, until]) => from <= fromMs && fromMs <= until);
    const [beganMs, startMs] = this.times[at] ?? [fromMs, fromMs];
    const before = this.times.filter(([, until]) => until < fromMs);
    const after = this.times.filter(([from]) => from > fromMs);
    let untilMs = startMs + (devices * 1000) / this.perSecond;
    // Those after it move on by as much as they overlap, at the end of theirs.
    while (after[0] !== undefined && after[0][0] <= untilMs) {
      untilMs += after[0][1] - after[0][0];
      after.shift();
    }
    this.times = [...before, [beganMs, untilMs], ...after];
    return Math.round(startMs);
  }

  /** Forgets what is over, so that the list stays short. */
  forgetBefore(nowMs: number): void {
    this.times = this.times.filter(([, until]) => until > nowMs);
  }
}

/** When the last of them ends. */
export function lastTaken(taken: TakenTimes | undefined): number | undefined {
  const last = taken?.at(-1);
  return last && Math.round(last[1]);
}
