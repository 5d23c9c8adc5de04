import type { App } from '../channels/app.ts';
import type { AppWebhookEvent } from '../channels/lifecycle/webhook-event.ts';
import { FairQueue } from '../runtime/fairness/fair-queue.ts';
import type { LogThrottle } from '../runtime/logging/log-throttle.ts';
import type { Log, Timers } from '../runtime/ports.ts';
import type { SortableIds } from '../runtime/sortable-ids.ts';
import { Collector } from './collector.ts';
import { ACCEPTED_EVENTS_MAX, FLUSH_EVENTS } from './limits.ts';
import type { NewOutboxRequest, OutboxRequest } from './outbox.ts';
import type { EndpointQueues } from './sending/endpoint-queues.ts';

/** A request that is ready to be stored and sent. */
export type PreparedRequest = Pick<
  NewOutboxRequest,
  'kind' | 'ownerId' | 'url' | 'endpoint' | 'events' | 'body'
> & {
  /**
   * A UUID that begins with its creation time, as version 7 does. A request whose id is already stored is not stored
   * or sent again. `undefined`: a new id.
   */
  readonly id: string | undefined;
  /** The id of a request that must be settled before this one is sent. */
  readonly afterId?: string;
};

/** The limit at which an event was dropped: memory before the store, the store, or the endpoint. */
export type DropCause = 'memory' | 'outbox' | 'endpoint';

/** Requests that were taken out of memory, to be written in one commit. */
export interface TakenRequests {
  readonly requests: readonly NewOutboxRequest[];
  /** To be called once they are written. */
  readonly onStored: readonly (() => void)[];
}

interface Pending {
  readonly request: NewOutboxRequest;
  readonly settle: () => void;
}

export interface IntakeOptions {
  readonly app: (id: string) => App | undefined;
  readonly ids: SortableIds;
  readonly queues: Pick<EndpointQueues, 'admit'>;
  readonly timers: Timers;
  readonly log: Log;
  readonly throttle: LogThrottle;
  /** The limit for events in memory, and the same again for requests of push. */
  readonly charactersMax: number;
}

/** Holds accepted events and requests in memory until they are written. Beyond a limit they are dropped and counted. */
export class Intake {
  /** Events dropped since the start. */
  readonly dropped: Record<DropCause, number> = { memory: 0, outbox: 0, endpoint: 0 };
  private readonly options: IntakeOptions;
  private readonly collector: Collector;
  /** Requests of push, shared fairly by its instances. */
  private readonly prepared: FairQueue<Pending>;
  private isClosed = false;

  constructor(options: IntakeOptions) {
    this.options = options;
    const { app, ids, charactersMax } = options;
    this.collector = new Collector(app, ids, charactersMax);
    this.prepared = new FairQueue({ items: ACCEPTED_EVENTS_MAX, bytes: charactersMax });
  }

  /** Events and requests in memory, counted once for each endpoint. */
  get size(): number {
    return this.collector.events + this.prepared.total.items;
  }

  /** From now on, everything is dropped. */
  close(): void {
    this.isClosed = true;
  }

  /** `onSettled` is called with the id of the event, if it has one, once it is stored or dropped at a limit. */
  addEvent(event: AppWebhookEvent, onSettled?: (id: string) => void): void {
    const dropped = this.isClosed
      ? [{ ownerId: event.appId, events: 1 }]
      : this.collector.add(event, onSettled);
    for (const { ownerId, events } of dropped) {
      this.drop('memory', { kind: 'channels', ownerId }, events);
    }
  }

  /** Settles once the request is stored or dropped; never, if neither happens before the end. */
  addRequest(request: PreparedRequest): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.isClosed) {
      this.drop('memory', request);
      return promise;
    }
    const { ids, timers } = this.options;
    const pending = { request: newRequest(request, timers.now(), ids), settle: resolve };
    const weight = { items: 1, bytes: request.body.length };
    for (const { item } of this.prepared.push(request.ownerId, pending, weight)) {
      this.drop('memory', item.request);
      item.settle();
    }
    return promise;
  }

  /** Takes what one commit should hold. Drops what exceeds the limits of waiting requests. */
  take(): TakenRequests {
    const requests: NewOutboxRequest[] = [];
    const taken = this.collector.take(this.options.timers.now(), FLUSH_EVENTS);
    const onStored = [...taken.onSettled];
    for (const { request, events } of taken.requests) {
      if (this.admit(request, events)) requests.push(request);
    }
    for (const { item } of this.prepared.take(FLUSH_EVENTS)) {
      if (this.admit(item.request)) {
        requests.push(item.request);
        onStored.push(item.settle);
      } else {
        item.settle();
      }
    }
    return { requests, onStored };
  }

  private admit(request: NewOutboxRequest, events = 1): boolean {
    const answer = this.options.queues.admit(request);
    if (answer !== 'admitted') this.drop(answer, request, events);
    return answer === 'admitted';
  }

  private drop(
    full: DropCause,
    { kind, ownerId }: Pick<OutboxRequest, 'kind' | 'ownerId'>,
    events = 1,
  ): void {
    const { log, throttle } = this.options;
    this.dropped[full] += events;
    const owner = kind === 'channels' ? 'app' : 'instance';
    throttle.run(`dropped ${full} ${kind} ${ownerId}`, (throttled) =>
      log.error('Webhook events dropped', { full, events, [owner]: ownerId, ...throttled }),
    );
  }
}

function newRequest(request: PreparedRequest, nowMs: number, ids: SortableIds): NewOutboxRequest {
  return {
    ...request,
    id: request.id ?? ids.next(nowMs),
    afterId: request.afterId,
    bodyBytes: Buffer.byteLength(request.body),
    createdAtMs: nowMs,
  };
}
