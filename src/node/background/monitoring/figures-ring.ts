import { bySeries, type KeptFigures, type SeriesName } from '../../../asking/facts/servers.ts';

export const STEP_MS = 10_000;
/** Steps of one day. They take 0.6 MB. */
const STEPS = 8_640;

/** A figure that is not known is left out. */
export type Measured = Readonly<Partial<Record<SeriesName, number | undefined>>>;

/**
 * The figures of one day, by the wall clock. The slot of a step follows from its time, so setting the clock does no
 * harm.
 */
export class FiguresRing {
  /** The number of the step in each slot. */
  private readonly steps = new Float64Array(STEPS).fill(-1);
  private readonly series = bySeries(() => new Float64Array(STEPS));

  /** Stores figures measured at a time. They replace earlier figures of the same step. */
  keep(atMs: number, measured: Measured): void {
    const step = Math.floor(atMs / STEP_MS);
    this.steps[step % STEPS] = step;
    bySeries((name) => {
      this.series[name][step % STEPS] = measured[name] ?? Number.NaN;
    });
  }

  /** Returns the figures since a time, beginning with the first measured step. */
  since(sinceMs: number, nowMs: number): KeptFigures {
    const last = Math.floor(nowMs / STEP_MS);
    let first = Math.max(Math.ceil(sinceMs / STEP_MS), last - STEPS + 1);
    while (first <= last && !this.has(first)) first++;
    const valueAt = (name: SeriesName, step: number): number | null => {
      const value = this.has(step) ? (this.series[name][step % STEPS] ?? Number.NaN) : Number.NaN;
      return Number.isNaN(value) ? null : Math.round(value * 100) / 100;
    };
    const steps = Array.from(
      { length: Math.max(0, last - first + 1) },
      (_, index) => first + index,
    );
    return {
      nowMs,
      stepMs: STEP_MS,
      fromMs: first * STEP_MS,
      series: bySeries((name) => steps.map((step) => valueAt(name, step))),
    };
  }

  private has(step: number): boolean {
    return this.steps[step % STEPS] === step;
  }
}
