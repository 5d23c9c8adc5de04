import { randomUUIDv7 } from 'bun';
import type { App } from '../channels/app.ts';
import type { NewOutboxRequest } from '../channels/outbox.ts';
import type { AppWebhookEvent } from '../channels/webhooks.ts';
import { endpointOf } from './endpoint.ts';
import {
  ACCEPTED_CHARACTERS_MAX,
  ACCEPTED_EVENTS_MAX,
  BATCH_CHARACTERS_MAX,
  BATCH_EVENTS_MAX,
} from './limits.ts';

/** Events on their way to one address, in the order in which they happened. */
interface Bundle {
  readonly appId: string;
  readonly url: string;
  readonly batching: boolean;
  readonly events: { readonly json: string; readonly atMs: number }[];
}

/** Gathers events in memory, for the endpoints that want them, until they are taken as requests. */
export class Collector {
  private readonly app: (id: string) => App | undefined;
  private bundles = new Map<string, Bundle>();
  private characters = 0;
  /** One for each endpoint that an event goes to. */
  events = 0;

  constructor(app: (id: string) => App | undefined) {
    this.app = app;
  }

  /** `false` where there is no room for it. An event that nobody wants needs none. */
  add({ appId, event, atMs }: AppWebhookEvent): boolean {
    const wanted = this.app(appId)?.webhooks.filter(({ events }) => events.includes(event.name));
    if (wanted === undefined || wanted.length === 0) return true;
    const json = JSON.stringify(event);
    if (
      this.events + wanted.length > ACCEPTED_EVENTS_MAX ||
      this.characters + json.length > ACCEPTED_CHARACTERS_MAX
    ) {
      return false;
    }
    this.events += wanted.length;
    // Once: all endpoints share the text.
    this.characters += json.length;
    for (const { url, batching } of wanted) {
      const key = `${appId} ${batching} ${url}`;
      const bundle = this.bundles.get(key);
      if (bundle === undefined) {
        this.bundles.set(key, { appId, url, batching, events: [{ json, atMs }] });
      } else {
        bundle.events.push({ json, atMs });
      }
    }
    return true;
  }

  /** Everything gathered, as the requests it is sent with; then there is nothing. */
  take(nowMs: number): readonly { readonly request: NewOutboxRequest; readonly events: number }[] {
    const taken = [...this.bundles.values()].flatMap((bundle) => requestsOf(bundle, nowMs));
    this.bundles = new Map();
    this.characters = 0;
    this.events = 0;
    return taken;
  }
}

function requestsOf({ appId, url, batching, events }: Bundle, nowMs: number) {
  const endpoint = endpointOf('channels', appId, url);
  return batches(events, batching).map((batch) => {
    const body = bodyOf(batch);
    const request: NewOutboxRequest = {
      id: randomUUIDv7('hex', nowMs),
      kind: 'channels',
      ownerId: appId,
      url,
      endpoint,
      body,
      bodyBytes: Buffer.byteLength(body),
      createdAtMs: nowMs,
      afterId: undefined,
    };
    return { request, events: batch.length };
  });
}

function batches(events: Bundle['events'], batching: boolean): readonly Bundle['events'][] {
  const most = batching ? BATCH_EVENTS_MAX : 1;
  const all: Bundle['events'][] = [];
  let characters = 0;
  for (const event of events) {
    const last = all.at(-1);
    characters += event.json.length;
    if (last !== undefined && last.length < most && characters <= BATCH_CHARACTERS_MAX) {
      last.push(event);
    } else {
      all.push([event]);
      characters = event.json.length;
    }
  }
  return all;
}

/** Its time is that of its last event. Source: Channels docs, "Webhook format". */
function bodyOf(batch: Bundle['events']): string {
  const timeMs = batch.at(-1)?.atMs ?? 0;
  return `{"time_ms":${timeMs},"events":[${batch.map(({ json }) => json).join(',')}]}`;
}
