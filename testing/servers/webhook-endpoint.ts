import { hmac } from '../clients/sign.ts';
import { Inbox } from '../inbox.ts';
import { APP } from './fanfare.ts';

/** A webhook request as it came. */
export interface WebhookRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | null;
  readonly key: string | null;
  readonly signature: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Of the body. */
  readonly timeMs: unknown;
  readonly events: readonly WebhookEvent[];
  /** When it came. Milliseconds since 1970. */
  readonly cameAtMs: number;
}

export interface WebhookEvent {
  readonly name: string;
  readonly channel: string;
  readonly [field: string]: unknown;
}

/** The endpoint of a backend on 127.0.0.1: it checks no more of a request than that it can be read. */
export interface WebhookEndpoint extends Disposable {
  readonly url: string;
  /** All requests, in the order in which they came. */
  readonly requests: Inbox<WebhookRequest>;
  /** All events of requests that were answered with 200, in the order in which they came. */
  readonly events: Inbox<WebhookEvent>;
  /** How many requests came. */
  readonly asked: () => number;
}

/** Starts an endpoint; `statuses` are those of its first answers, and all others are 200. */
export function startWebhookEndpoint(statuses: readonly number[] = []): WebhookEndpoint {
  const requests = new Inbox<WebhookRequest>('The webhook endpoint');
  const events = new Inbox<WebhookEvent>('The webhook endpoint');
  let asked = 0;
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const status = statuses[asked] ?? 200;
      asked++;
      const body = await request.text();
      // Those of push tell one event, in another form.
      const { time_ms: timeMs, events: told = [] } = JSON.parse(body);
      requests.put({
        method: request.method,
        path: new URL(request.url).pathname,
        contentType: request.headers.get('content-type'),
        key: request.headers.get('x-pusher-key'),
        signature: request.headers.get('x-pusher-signature'),
        headers: request.headers.toJSON(),
        body,
        timeMs,
        events: told,
        cameAtMs: Date.now(),
      });
      if (status === 200) for (const event of told) events.put(event);
      return new Response(null, { status });
    },
  });
  return {
    url: `http://127.0.0.1:${http.port}/webhooks`,
    requests,
    events,
    asked: () => asked,
    [Symbol.dispose]() {
      http.stop(true);
    },
  };
}

/** Whether a request carries the key, and the signature that its secret gives its body. */
export function isSignedWith(
  request: WebhookRequest,
  { key, secret }: { readonly key: string; readonly secret: string } = APP,
): boolean {
  return request.key === key && request.signature === hmac(request.body, secret);
}
