import type { App, AppWebhook } from '../channels/app.ts';
import type { AppWebhookEvent } from '../channels/lifecycle/webhook-event.ts';
import { FairQueue } from '../runtime/fairness/fair-queue.ts';
import type { SortableIds } from '../runtime/sortable-ids.ts';
import { ACCEPTED_EVENTS_MAX, BATCH_CHARACTERS_MAX, BATCH_EVENTS_MAX } from './limits.ts';
import type { NewOutboxRequest } from './outbox.ts';
import { endpointOf } from './sending/endpoint.ts';

/** One event and the endpoints that want it. */
interface Accepted {
  readonly name: string;
  readonly json: string;
  readonly atMs: number;
  /** See `AppWebhookEvent`. */
  readonly id: string | undefined;
  /** Called once it is stored or dropped. */
  readonly onSettled: (() => void) | undefined;
  readonly wanted: readonly AppWebhook[];
}

/** Events for one address. */
interface Bundle {
  readonly appId: string;
  readonly url: string;
  readonly batching: boolean;
  readonly events: Pick<Accepted, 'name' | 'json' | 'atMs' | 'id'>[];
  /** The ids of its events. */
  readonly ids: Set<string>;
}

/** Events of one app that were dropped, counted once for each endpoint. */
export interface DroppedEvents {
  readonly ownerId: string;
  readonly events: number;
}

/** Requests that were made of accepted events. */
interface TakenEvents {
  readonly requests: readonly { readonly request: NewOutboxRequest; readonly events: number }[];
  /** To be called once the requests are stored or dropped. */
  readonly onSettled: readonly (() => void)[];
}

/** Holds events of apps in memory until they are taken as requests. Apps share the memory fairly. */
export class Collector {
  private readonly app: (id: string) => App | undefined;
  private readonly ids: SortableIds;
  private readonly accepted: FairQueue<Accepted>;

  /** `charactersMax`: of all events. */
  constructor(app: (id: string) => App | undefined, ids: SortableIds, charactersMax: number) {
    this.app = app;
    this.ids = ids;
    this.accepted = new FairQueue({ items: ACCEPTED_EVENTS_MAX, bytes: charactersMax });
  }

  /** Counted once for each endpoint. */
  get events(): number {
    return this.accepted.total.items;
  }

  /**
   * Adds an event, unless no endpoint wants it. Returns what was dropped to make room, perhaps the event itself. `onSettled`
   * is called with the id of the event once it is stored or dropped.
   */
  add(
    { appId, event, atMs, id }: AppWebhookEvent,
    onSettled?: (id: string) => void,
  ): readonly DroppedEvents[] {
    const settled = id === undefined || onSettled === undefined ? undefined : () => onSettled(id);
    const wanted = this.app(appId)?.webhooks.filter(({ events }) => events.includes(event.name));
    if (wanted === undefined || wanted.length === 0) {
      settled?.();
      return [];
    }
    const json = JSON.stringify(event);
    // All endpoints share this text.
    const weight = { items: wanted.length, bytes: json.length };
    return this.accepted
      .push(appId, { name: event.name, json, atMs, id, onSettled: settled, wanted }, weight)
      .map(({ owner, item, weight: { items } }) => {
        item.onSettled?.();
        return { ownerId: owner, events: items };
      });
  }

  /** Takes about `eventsMax` events, of all apps in turn, and makes requests of them. */
  take(nowMs: number, eventsMax = Number.POSITIVE_INFINITY): TakenEvents {
    const bundles = new Map<string, Bundle>();
    const taken = this.accepted.take(eventsMax);
    for (const { owner, item } of taken) {
      for (const { url, batching } of item.wanted) {
        const key = `${owner} ${batching} ${url}`;
        let bundle = bundles.get(key);
        if (bundle === undefined) {
          bundle = { appId: owner, url, batching, events: [], ids: new Set() };
          bundles.set(key, bundle);
        }
        // Two loops may have reported the same.
        if (item.id !== undefined && bundle.ids.has(item.id)) continue;
        if (item.id !== undefined) bundle.ids.add(item.id);
        bundle.events.push(item);
      }
    }
    return {
      requests: [...bundles.values()].flatMap((bundle) => this.requestsOf(bundle, nowMs)),
      onSettled: taken.flatMap(({ item }) => item.onSettled ?? []),
    };
  }

  private requestsOf(bundle: Bundle, nowMs: number) {
    const { batching, events } = bundle;
    // Several realtime loops send theirs apart, so they may come in another order than they happened.
    const inOrder = events.toSorted((a, b) => a.atMs - b.atMs);
    return batches(inOrder, batching).map((batch) => ({
      request: this.requestOf(bundle, batch, nowMs),
      events: batch.length,
    }));
  }

  private requestOf(bundle: Bundle, batch: Bundle['events'], nowMs: number): NewOutboxRequest {
    const { appId, url } = bundle;
    const body = bodyOf(batch);
    const ids = batch.flatMap(({ id }) => id ?? []);
    const without = (known: ReadonlySet<string>) => {
      const left = batch.filter(({ id }) => id === undefined || !known.has(id));
      return left.length === 0 ? undefined : this.requestOf(bundle, left, nowMs);
    };
    return {
      id: this.ids.next(nowMs),
      kind: 'channels',
      ownerId: appId,
      url,
      endpoint: endpointOf('channels', appId, url),
      events: namesOf(batch),
      body,
      bodyBytes: Buffer.byteLength(body),
      createdAtMs: nowMs,
      afterId: undefined,
      ...(ids.length > 0 && { repeatable: { ids, without } }),
    };
  }
}

function batches(events: Bundle['events'], batching: boolean): readonly Bundle['events'][] {
  const eventsMax = batching ? BATCH_EVENTS_MAX : 1;
  const all: Bundle['events'][] = [];
  let characters = 0;
  for (const event of events) {
    const last = all.at(-1);
    characters += event.json.length;
    if (last !== undefined && last.length < eventsMax && characters <= BATCH_CHARACTERS_MAX) {
      last.push(event);
    } else {
      all.push([event]);
      characters = event.json.length;
    }
  }
  return all;
}

/** The names of events, each once: `channel_occupied, member_added ×3`. */
function namesOf(batch: Bundle['events']): string {
  return [...Map.groupBy(batch, ({ name }) => name)]
    .map(([name, { length }]) => (length === 1 ? name : `${name} ×${length}`))
    .join(', ');
}

/** `time_ms` is the time of the last event. Source: Channels docs, "Webhook format". */
function bodyOf(batch: Bundle['events']): string {
  const timeMs = batch.at(-1)?.atMs ?? 0;
  return `{"time_ms":${timeMs},"events":[${batch.map(({ json }) => json).join(',')}]}`;
}
