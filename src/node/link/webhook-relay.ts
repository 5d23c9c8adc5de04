import type { AppWebhookEvent, WebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { WebhookSink } from '../../channels/ports.ts';
import { FairQueue } from '../../runtime/fairness/fair-queue.ts';
import type { RateLimitedLog } from '../../runtime/logging/rate-limited-log.ts';
import type { SharedTotal } from '../../runtime/shared-memory/shared-total.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';

/**
 * The limit of waiting events on all loops, and their part of all characters. Beyond it, the app with the most events loses
 * its newest.
 */
const WAITING_MAX = 80_000;
const WAITING_PART = 3 / 4;

/**
 * The limit of events in flight from all loops to the background loop without acknowledgement. The rest of all characters is
 * for them. One event of each loop may exceed it.
 */
const IN_FLIGHT_MAX = 20_000;

/** The cost of an event in addition to its text. Characters. */
const EVENT_CHARACTERS = 100;

/** How long an event may wait to be sent in a batch with others. */
const BATCH_MS = 10;

export interface WebhookRelayOptions {
  readonly send: (events: readonly AppWebhookEvent[]) => void;
  readonly meter: {
    readonly count: (counter: 'webhookEventsDropped', by: number, full: 'loop') => void;
  };
  readonly log: RateLimitedLog;
  /** The limit of characters of all events that wait or are in flight, on all loops. */
  readonly charactersMax: number;
  /** The number of realtime loops. */
  readonly loops?: number;
  /** Shared counts of waiting events on all loops, if there are several. */
  readonly waiting?: Readonly<Record<'items' | 'bytes', SharedTotal>> | undefined;
}

/** Sends webhook events to the background loop, in batches and with flow control. Apps take turns. */
export class WebhookRelay implements WebhookSink {
  private readonly options: WebhookRelayOptions;
  private readonly waiting: FairQueue<AppWebhookEvent>;
  /** `bytes` counts characters. */
  private readonly inFlightMax: { readonly items: number; readonly bytes: number };
  private cancelFlush: (() => void) | undefined;
  /** The sizes of the events in flight, in order. Characters. */
  private inFlight: number[] = [];
  private inFlightCharacters = 0;
  /** Callbacks of events that are neither stored nor dropped yet, by id. */
  private readonly awaited = new Map<string, () => void>();

  constructor(options: WebhookRelayOptions) {
    this.options = options;
    const { loops = 1, waiting, charactersMax } = options;
    const waitingCharacters = charactersMax * WAITING_PART;
    this.waiting = new FairQueue({ items: WAITING_MAX, bytes: waitingCharacters }, waiting);
    this.inFlightMax = {
      items: IN_FLIGHT_MAX / loops,
      bytes: (charactersMax - waitingCharacters) / loops,
    };
  }

  emit(event: AppWebhookEvent, onSettled?: () => void): void {
    if (event.id !== undefined && onSettled !== undefined) this.awaited.set(event.id, onSettled);
    const weight = { items: 1, bytes: charactersOf(event.event) };
    for (const { owner, item } of this.waiting.push(event.appId, event, weight)) {
      this.dropped(owner);
      if (item.id !== undefined) this.settle(item.id);
    }
    this.flushSoon();
  }

  /** Called when the background loop has stored or dropped the event with this id. */
  settle(id: string): void {
    const onSettled = this.awaited.get(id);
    this.awaited.delete(id);
    onSettled?.();
  }

  /** Called when the background loop has acknowledged this many events. */
  taken(events: number): void {
    for (const characters of this.inFlight.splice(0, events)) {
      this.inFlightCharacters -= characters;
    }
    if (!this.waiting.isEmpty) this.flushSoon();
  }

  /** Sends as many events as the background loop may get now. */
  flush(): void {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
    const taken = this.waiting.take(
      this.inFlightMax.items - this.inFlight.length,
      this.inFlightMax.bytes - this.inFlightCharacters,
    );
    if (taken.length === 0) return;
    for (const { weight } of taken) {
      this.inFlight.push(weight.bytes);
      this.inFlightCharacters += weight.bytes;
    }
    this.options.send(taken.map(({ item }) => item));
  }

  private flushSoon(): void {
    const { items, bytes } = this.inFlightMax;
    if (this.inFlight.length >= items || this.inFlightCharacters >= bytes) return;
    this.cancelFlush ??= monotonicTimers.after(BATCH_MS, () => this.flush());
  }

  private dropped(app: string): void {
    const { meter, log } = this.options;
    meter.count('webhookEventsDropped', 1, 'loop');
    log.error('Webhook events dropped: the background loop is overloaded', { app });
  }
}

function charactersOf(event: WebhookEvent): number {
  let characters = EVENT_CHARACTERS;
  for (const value of Object.values(event)) {
    if (typeof value === 'string') characters += value.length;
  }
  return characters;
}
