import type { MetricValues } from '../../../observability/meter.ts';
import type { MetricId } from '../../../observability/metrics-table.ts';
import { messageOf } from '../../../runtime/error-code.ts';
import type { Timers } from '../../../runtime/ports.ts';
import { Poller } from '../../../runtime/time/poller.ts';
import { STEP_MS } from './figures-ring.ts';

/** How long samples are kept: the longest period that a rule examines. */
const KEPT_MS = 600_000;

/** The shortest time over which a rate is computed. */
const RATE_MS = 5_000;

/** All metrics of a server at one moment. */
export interface Sample {
  readonly atMs: number;
  /** The time of the sample by a monotonic clock. */
  readonly monotonicMs: number;
  /** Sums over all loops. `undefined`: a realtime loop did not answer. */
  readonly metrics: MetricValues | undefined;
  /** The reason why it did not. */
  readonly why: string | undefined;
}

export interface SamplesOptions {
  /** Asks all loops for their metrics. Rejects if one does not answer. */
  readonly measure: () => Promise<readonly MetricValues[]>;
  /** Called with each sample. */
  readonly onSample: (sample: Sample) => void;
  readonly timers: Timers;
  readonly monotonic: Timers;
}

/** Samples all metrics every 10 s, and more often when somebody looks. */
export class Samples implements Disposable {
  private readonly options: SamplesOptions;
  /** The first sample of each step, oldest first. */
  private readonly kept: Sample[] = [];
  private latest: Sample | undefined;
  private measuring: Promise<Sample> | undefined;
  private readonly steps: Poller;
  private hasEnded = false;

  constructor(options: SamplesOptions) {
    this.options = options;
    this.steps = new Poller(options.timers, () => this.step());
  }

  start(): void {
    this.steps.wake();
  }

  /** Returns a sample that is at most this old. Concurrent callers share one. */
  async fresh(mostMs: number): Promise<Sample> {
    const { latest } = this;
    const sinceMs = this.options.monotonic.now() - mostMs;
    return latest !== undefined && latest.monotonicMs >= sinceMs ? latest : await this.measure();
  }

  /** The increase of a counter over the last period; 0 if it is unknown. */
  increase(id: MetricId, overMs: number, label?: string): number {
    const sinceMs = this.options.monotonic.now() - overMs - STEP_MS;
    const first = this.kept.find(
      ({ metrics, monotonicMs }) => metrics !== undefined && monotonicMs >= sinceMs,
    );
    const last =
      this.latest?.metrics === undefined
        ? this.kept.findLast(({ metrics }) => metrics !== undefined)
        : this.latest;
    if (last === undefined || first === undefined) return 0;
    return total(last, id, label) - total(first, id, label);
  }

  /** The rate of a counter at a sample; `undefined` if it is not known yet. */
  perSecond(sample: Sample, id: MetricId, label?: string): number | undefined {
    if (sample.metrics === undefined) return undefined;
    const before = this.kept.findLast(
      ({ metrics, monotonicMs }) =>
        metrics !== undefined && sample.monotonicMs - monotonicMs >= RATE_MS,
    );
    if (before === undefined) return undefined;
    const seconds = (sample.monotonicMs - before.monotonicMs) / 1000;
    return (total(sample, id, label) - total(before, id, label)) / seconds;
  }

  /** The first samples of the last steps, newest last. */
  last(count: number): readonly Sample[] {
    return this.kept.slice(-count);
  }

  [Symbol.dispose](): void {
    this.hasEnded = true;
    void this.steps.stop();
  }

  /** Returns how long this step of the clock still takes. */
  private async step(): Promise<number> {
    await this.measure();
    return STEP_MS - (this.options.timers.now() % STEP_MS);
  }

  private measure(): Promise<Sample> {
    this.measuring ??= this.measureOnce().finally(() => {
      this.measuring = undefined;
    });
    return this.measuring;
  }

  private async measureOnce(): Promise<Sample> {
    const { measure, onSample, timers, monotonic } = this.options;
    let metrics: Sample['metrics'];
    let why: string | undefined;
    try {
      metrics = sumOf(await measure());
    } catch (error) {
      why = messageOf(error);
    }
    const sample = { atMs: timers.now(), monotonicMs: monotonic.now(), metrics, why };
    if (!this.hasEnded) {
      this.keep(sample);
      onSample(sample);
    }
    return sample;
  }

  private keep(sample: Sample): void {
    this.latest = sample;
    const stepOf = ({ atMs }: Sample) => Math.floor(atMs / STEP_MS);
    const last = this.kept.at(-1);
    if (last === undefined || stepOf(last) !== stepOf(sample)) this.kept.push(sample);
    const keptSinceMs = sample.monotonicMs - KEPT_MS - STEP_MS;
    while (this.kept[0] !== undefined && this.kept[0].monotonicMs < keptSinceMs) this.kept.shift();
  }
}

/** The sum of a metric over all its series, or the value of the series with a label. */
export function total({ metrics }: Pick<Sample, 'metrics'>, id: MetricId, label?: string): number {
  const series = metrics?.get(id);
  if (series === undefined) return 0;
  if (label !== undefined) return series.get(label) ?? 0;
  return series.values().reduce((sum, value) => sum + value, 0);
}

/** Adds up the metrics of all loops. Series of a single loop get its name as a label. */
function sumOf(loops: readonly MetricValues[]): MetricValues {
  const sums = new Map<MetricId, Map<string, number>>();
  for (const loop of loops) {
    for (const [id, series] of loop) {
      const sum = sums.get(id) ?? new Map<string, number>();
      sums.set(id, sum);
      for (const [label, value] of series) sum.set(label, (sum.get(label) ?? 0) + value);
    }
  }
  return sums;
}
