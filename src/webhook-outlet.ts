import type { WebhookSink } from './channels/ports.ts';
import type { AppWebhookEvent } from './channels/webhooks.ts';

/** Events that the background loop may owe an answer for; beyond them new ones are dropped and counted. */
const OUTSTANDING_MAX = 100_000;

/** Milliseconds that an event may wait to be sent with others. */
const GATHER_MS = 10;

interface OutletMeter {
  count(counter: 'webhookEventsDropped', by: number, full: 'loop'): void;
}

/** Hands webhook events to the background loop, in batches, and no more than it can take. */
export class WebhookOutlet implements WebhookSink {
  private readonly send: (events: readonly AppWebhookEvent[]) => void;
  private readonly meter: OutletMeter;
  private gathered: AppWebhookEvent[] = [];
  private timer: NodeJS.Timeout | undefined;
  private outstanding = 0;

  constructor(send: (events: readonly AppWebhookEvent[]) => void, meter: OutletMeter) {
    this.send = send;
    this.meter = meter;
  }

  emit(event: AppWebhookEvent): void {
    if (this.outstanding >= OUTSTANDING_MAX) {
      return this.meter.count('webhookEventsDropped', 1, 'loop');
    }
    this.outstanding++;
    this.gathered.push(event);
    this.timer ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  /** The background loop has taken over so many. */
  taken(events: number): void {
    this.outstanding -= events;
  }

  /** Hands over what waits now. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.gathered.length === 0) return;
    this.send(this.gathered);
    this.gathered = [];
  }
}
