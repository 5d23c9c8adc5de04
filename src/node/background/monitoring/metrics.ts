import type { SourceOfServer } from '../../../asking/facts/sources.ts';
import { LoopDelay } from '../../../observability/loop-delay.ts';
import { type MetricValues, printMetrics, type TableMeter } from '../../../observability/meter.ts';
import type { Resolver } from '../../../outgoing/resolve.ts';
import type { Outcomes } from '../../../push/delivering/outcome-counts.ts';
import type { PipelineFigures } from '../../../push/delivering/pipeline.ts';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { type MemoryPlan, type ShareName, shareLabels } from '../../memory/shares.ts';
import { openSocketBytes } from '../../sockets/socket-bytes.ts';

export interface BackgroundMetricsOptions {
  readonly memory: MemoryPlan;
  /** The meter of the other parts of this loop. */
  readonly meter: TableMeter;
  readonly webhooks: Webhooks;
  readonly resolver: Resolver;
  readonly push: () => PipelineFigures;
  readonly sources: () => readonly SourceOfServer[];
  readonly logLinesDropped: () => number;
}

/** Measures the background loop, webhooks, push deliveries and the process. */
export class BackgroundMetrics implements Disposable {
  private readonly options: BackgroundMetricsOptions;
  private readonly loopDelay = new LoopDelay();
  private readonly socketBytes = openSocketBytes();

  constructor(options: BackgroundMetricsOptions) {
    this.options = options;
    const { meter, memory } = options;
    meter.set('startTime', Date.now() / 1000);
    meter.set('memoryLimit', memory.memoryBytes);
    for (const [name, label] of Object.entries(shareLabels)) {
      const bytes = memory.costs[name as ShareName];
      // Open files may be unlimited.
      if (Number.isFinite(bytes)) meter.set('memoryShare', bytes, label);
    }
  }

  /** Prints the metrics of all loops. */
  print(realtime: readonly MetricValues[]): string {
    return printMetrics([...realtime, this.measure()]);
  }

  /** Sets the gauges that this loop knows. */
  measure(): MetricValues {
    const { meter, webhooks, resolver, logLinesDropped } = this.options;
    const { queuedRows, queuedBytes, oldestAgeMs, dropped, attempts } = webhooks.figures();
    meter.set('outboxRequests', queuedRows);
    meter.set('outboxBytes', queuedBytes);
    meter.set('outboxOldestAge', oldestAgeMs / 1000);
    meter.setEach('webhookEventsDropped', dropped);
    meter.setEach('webhookAttempts', attempts);
    meter.set('nameLookups', resolver.open);
    meter.set('nameLookupsRefused', resolver.refusals);
    this.measurePush();
    this.measureSources();
    meter.set('loopDelay', this.loopDelay.longestSeconds(), 'background');
    meter.set('logLinesDropped', logLinesDropped(), 'background');
    meter.set('memory', process.memoryUsage.rss());
    const held = this.socketBytes?.();
    if (held !== undefined) meter.set('memoryShareUsed', held, shareLabels.socketBytes);
    return meter.snapshot();
  }

  private measureSources(): void {
    const { meter, sources } = this.options;
    for (const { source, state, lagSeconds } of sources()) {
      meter.set('sourceUp', state === 'away' ? 0 : 1, `${source}`);
      if (lagSeconds !== null) meter.set('sourceLag', lagSeconds, `${source}`);
    }
  }

  private measurePush(): void {
    const { meter, push } = this.options;
    const { outcomes, backlog, gaveWay, leftOut, lagMs, openCircuits, pausedDevices } = push();
    const sumOf = (countOf: (platform: Platform) => number) =>
      platforms.reduce((sum, platform) => sum + countOf(platform), 0);
    for (const outcome of Object.keys(outcomes.web) as (keyof Outcomes)[]) {
      meter.set(
        'pushDeliveries',
        sumOf((platform) => outcomes[platform][outcome]),
        outcome,
      );
    }
    meter.set(
      'pushLeftOut',
      sumOf((platform) => gaveWay[platform]),
      'gave-way',
    );
    meter.setEach('pushLeftOut', leftOut);
    meter.set('pushPausedDevices', pausedDevices);
    meter.set('pushPages', backlog?.pages ?? 0);
    meter.set('pushRetries', backlog?.retries ?? 0);
    meter.set('pushLag', lagMs / 1000);
    meter.set('pushPauses', openCircuits.length);
  }

  [Symbol.dispose](): void {
    this.loopDelay[Symbol.dispose]();
  }
}
