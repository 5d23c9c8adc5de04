import { LoopDelay } from './observability/loop-delay.ts';
import { type MetricValues, printMetrics, TableMeter } from './observability/meter.ts';
import type { Webhooks } from './webhooks/webhooks.ts';

/** What the background loop measures of itself, of the webhooks and of the process. */
export class BackgroundMetrics implements Disposable {
  /** For the other parts of this loop. */
  readonly meter = new TableMeter();
  private readonly loopDelay = new LoopDelay();
  private readonly webhooks: Webhooks;
  private readonly logLinesDropped: () => number;

  constructor(webhooks: Webhooks, logLinesDropped: () => number) {
    this.webhooks = webhooks;
    this.logLinesDropped = logLinesDropped;
    this.meter.set('startTime', Date.now() / 1000);
  }

  /** Connections that were closed before their handshake was finished. */
  handshakesClosed(count: number): void {
    this.meter.count('connectionsRefused', count, 'unfinished');
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
    meter.set('loopDelay', this.loopDelay.longestSeconds(), 'background');
    meter.set('logLinesDropped', this.logLinesDropped(), 'background');
    meter.set('memory', process.memoryUsage.rss());
    return printMetrics([realtime, meter.snapshot()]);
  }

  [Symbol.dispose](): void {
    this.loopDelay[Symbol.dispose]();
  }
}
