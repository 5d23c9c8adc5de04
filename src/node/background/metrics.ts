import { LoopDelay } from '../../observability/loop-delay.ts';
import { type MetricValues, printMetrics, type TableMeter } from '../../observability/meter.ts';
import type { Resolver } from '../../outgoing/resolve.ts';
import type { PipelineFigures } from '../../push/delivering/pipeline.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

export interface BackgroundMetricsOptions {
  /** What the other parts of this loop count with. */
  readonly meter: TableMeter;
  readonly webhooks: Webhooks;
  readonly resolver: Resolver;
  readonly logLinesDropped: () => number;
}

/** What the background loop measures of itself, of the webhooks and of the process. */
export class BackgroundMetrics implements Disposable {
  /** For the other parts of this loop. */
  readonly meter: TableMeter;
  private readonly loopDelay = new LoopDelay();
  private readonly webhooks: Webhooks;
  private readonly resolver: Resolver;
  private readonly logLinesDropped: () => number;
  private push: (() => PipelineFigures) | undefined;

  constructor({ meter, webhooks, resolver, logLinesDropped }: BackgroundMetricsOptions) {
    this.meter = meter;
    this.webhooks = webhooks;
    this.resolver = resolver;
    this.logLinesDropped = logLinesDropped;
    this.meter.set('startTime', Date.now() / 1000);
  }

  /** Shows these as well from now on. */
  follow(push: () => PipelineFigures): void {
    this.push = push;
  }

  /** Prints what both loops measured. */
  print(realtime: MetricValues): string {
    const { meter } = this;
    const { queuedRows, queuedBytes, oldestAgeMs, dropped, attempts } = this.webhooks.figures();
    meter.set('outboxRequests', queuedRows);
    meter.set('outboxBytes', queuedBytes);
    meter.set('outboxOldestAge', oldestAgeMs / 1000);
    for (const [full, events] of Object.entries(dropped)) {
      meter.set('webhookEventsDropped', events, full);
    }
    for (const [outcome, count] of Object.entries(attempts)) {
      meter.set('webhookAttempts', count, outcome);
    }
    meter.set('nameLookups', this.resolver.open);
    meter.set('nameLookupsRefused', this.resolver.refusals);
    this.measurePush();
    meter.set('loopDelay', this.loopDelay.longestSeconds(), 'background');
    meter.set('logLinesDropped', this.logLinesDropped(), 'background');
    meter.set('memory', process.memoryUsage.rss());
    return printMetrics([realtime, meter.snapshot()]);
  }

  private measurePush(): void {
    const figures = this.push?.();
    if (figures === undefined) return;
    const { meter } = this;
    const { outcomes, backlog, lagMs, pauses } = figures;
    const { apns, fcm, web } = outcomes;
    for (const outcome of Object.keys(apns) as (keyof typeof apns)[]) {
      meter.set('pushDeliveries', apns[outcome] + fcm[outcome] + web[outcome], outcome);
    }
    meter.set('pushPages', backlog?.pages ?? 0);
    meter.set('pushRetries', backlog?.retries ?? 0);
    meter.set('pushLag', lagMs / 1000);
    meter.set('pushPauses', pauses.length);
  }

  [Symbol.dispose](): void {
    this.loopDelay[Symbol.dispose]();
  }
}
