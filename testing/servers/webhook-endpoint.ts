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
  /** The time that the body names. */
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

/** The webhook endpoint of a backend on 127.0.0.1. It accepts every request that is JSON. */
export interface WebhookEndpoint extends Disposable {
  readonly url: string;
  /** The webhook setting of an app that sends to this endpoint. */
  readonly webhook: object;
  /** All requests, in order of arrival. */
  readonly requests: Inbox<WebhookRequest>;
  /** All events of requests that were answered with 200, in order of arrival. */
  readonly events: Inbox<WebhookEvent>;
  /** The bodies of all requests so far. */
  readonly bodies: readonly string[];
  /** The number of requests so far. */
  readonly asked: () => number;
  /** Sets the status of later answers. */
  answerWith(status: number): void;
}

/** Starts an endpoint. `statuses` are those of its first answers; later ones are 200. */
export function startWebhookEndpoint(statuses: readonly number[] = []): WebhookEndpoint {
  const requests = new Inbox<WebhookRequest>('The webhook endpoint');
  const events = new Inbox<WebhookEvent>('The webhook endpoint');
  const bodies: string[] = [];
  let asked = 0;
  let laterStatus = 200;
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const status = statuses[asked] ?? laterStatus;
      asked++;
      const body = await request.text();
      bodies.push(body);
      // A webhook of push has one event, in another form.
      const { time_ms: timeMs, events: received = [] } = JSON.parse(body);
      requests.put({
        method: request.method,
        path: new URL(request.url).pathname,
        contentType: request.headers.get('content-type'),
        key: request.headers.get('x-pusher-key'),
        signature: request.headers.get('x-pusher-signature'),
        headers: request.headers.toJSON(),
        body,
        timeMs,
        events: received,
        cameAtMs: Date.now(),
      });
      if (status === 200) for (const event of received) events.put(event);
      return new Response('an answer', { status });
    },
  });
  const url = `http://127.0.0.1:${http.port}/webhooks`;
  return {
    url,
    webhook: { url, events: ['channel_occupied', 'channel_vacated'] },
    requests,
    events,
    bodies,
    asked: () => asked,
    answerWith(status) {
      laterStatus = status;
    },
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
