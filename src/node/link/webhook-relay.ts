import type { AppWebhookEvent, WebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { WebhookSink } from '../../channels/ports.ts';
import { FairQueue } from '../../runtime/fair-queue.ts';
import type { RateLimitedLog } from '../../runtime/rate-limited-log.ts';

/** What may wait here to be handed over; beyond it, the app that has most loses its newest. `bytes`: characters. */
const WAITING_MAX = { items: 80_000, bytes: 24 * 1024 * 1024 };

/**
 * What the background loop may have been handed without having said that it took it, and one event more. `bytes`:
 * characters. With what waits, it takes 64 MiB where all characters have two bytes.
 */
const HANDED_OVER_MAX = { items: 20_000, bytes: 8 * 1024 * 1024 };

/** What an event takes besides its text. Characters. */
const EVENT_CHARACTERS = 100;

/** Milliseconds that an event may wait to be sent with others. */
const GATHER_MS = 10;

interface OutletMeter {
  count(counter: 'webhookEventsDropped', by: number, full: 'loop'): void;
}

export interface WebhookRelayOptions {
  readonly send: (events: readonly AppWebhookEvent[]) => void;
  readonly meter: OutletMeter;
  readonly log: RateLimitedLog;
}

/** Hands webhook events to the background loop, in batches, and no more than it can take. Apps take turns. */
export class WebhookRelay implements WebhookSink {
  private readonly options: WebhookRelayOptions;
  private readonly waiting = new FairQueue<AppWebhookEvent>(WAITING_MAX);
  private timer: NodeJS.Timeout | undefined;
  /** The characters of each event that was handed over and not yet taken, in order. */
  private handedOver: number[] = [];
  private handedOverCharacters = 0;

  constructor(options: WebhookRelayOptions) {
    this.options = options;
  }

  emit(event: AppWebhookEvent): void {
    const weight = { items: 1, bytes: charactersOf(event.event) };
    for (const { owner } of this.waiting.push(event.appId, event, weight)) this.dropped(owner);
    this.flushSoon();
  }

  /** The background loop has taken so many. */
  taken(events: number): void {
    for (const characters of this.handedOver.splice(0, events)) {
      this.handedOverCharacters -= characters;
    }
    if (!this.waiting.isEmpty) this.flushSoon();
  }

  /** Hands over now what the background loop may take. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const taken = this.waiting.take(
      HANDED_OVER_MAX.items - this.handedOver.length,
      HANDED_OVER_MAX.bytes - this.handedOverCharacters,
    );
    if (taken.length === 0) return;
    for (const { weight } of taken) {
      this.handedOver.push(weight.bytes);
      this.handedOverCharacters += weight.bytes;
    }
    this.options.send(taken.map(({ item }) => item));
  }

  private flushSoon(): void {
    const { items, bytes } = HANDED_OVER_MAX;
    if (this.handedOver.length >= items || this.handedOverCharacters >= bytes) return;
    this.timer ??= setTimeout(() => this.flush(), GATHER_MS);
  }

  private dropped(app: string): void {
    const { meter, log } = this.options;
    meter.count('webhookEventsDropped', 1, 'loop');
    log.error('Webhook events dropped: the background loop does not keep up', { app });
  }
}

function charactersOf(event: WebhookEvent): number {
  let characters = EVENT_CHARACTERS;
  for (const value of Object.values(event)) {
    if (typeof value === 'string') characters += value.length;
  }
  return characters;
}
