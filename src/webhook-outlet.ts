import type { WebhookSink } from './channels/ports.ts';
import type { AppWebhookEvent } from './channels/webhooks.ts';
import { FairQueue } from './runtime/fair-queue.ts';
import type { StrangerLog } from './runtime/stranger-log.ts';

/** Events that may wait here to be handed over; beyond it, the app that has most loses its newest. */
const WAITING_MAX = 80_000;

/** Events that the background loop may have been handed without having said that it took them. */
const HANDED_OVER_MAX = 20_000;

/** Milliseconds that an event may wait to be sent with others. */
const GATHER_MS = 10;

const ONE_EVENT = { items: 1, bytes: 0 };

interface OutletMeter {
  count(counter: 'webhookEventsDropped', by: number, full: 'loop'): void;
}

export interface OutletOptions {
  readonly send: (events: readonly AppWebhookEvent[]) => void;
  readonly meter: OutletMeter;
  readonly log: StrangerLog;
}

/** Hands webhook events to the background loop, in batches, and no more than it can take. Apps take turns. */
export class WebhookOutlet implements WebhookSink {
  private readonly options: OutletOptions;
  private readonly waiting = new FairQueue<AppWebhookEvent>({ items: WAITING_MAX, bytes: 0 });
  private timer: NodeJS.Timeout | undefined;
  private handedOver = 0;

  constructor(options: OutletOptions) {
    this.options = options;
  }

  emit(event: AppWebhookEvent): void {
    for (const { owner } of this.waiting.push(event.appId, event, ONE_EVENT)) this.dropped(owner);
    this.flushSoon();
  }

  /** The background loop has taken so many. */
  taken(events: number): void {
    this.handedOver -= events;
    if (!this.waiting.isEmpty) this.flushSoon();
  }

  /** Hands over now what the background loop may take. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const events = this.waiting.take(HANDED_OVER_MAX - this.handedOver).map(({ item }) => item);
    if (events.length === 0) return;
    this.handedOver += events.length;
    this.options.send(events);
  }

  private flushSoon(): void {
    if (this.handedOver < HANDED_OVER_MAX) this.timer ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  private dropped(app: string): void {
    const { meter, log } = this.options;
    meter.count('webhookEventsDropped', 1, 'loop');
    log.error('Webhook events dropped: the background loop does not keep up', { app });
  }
}
