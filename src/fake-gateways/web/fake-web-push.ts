import { monotonicTimers } from '../../runtime/system-timers.ts';
import { pause } from '../../runtime/time/pause.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import { NotificationLog } from '../notification-log.ts';
import { type Act, FaultScript } from '../script.ts';
import { FakePushService, type FakeSubscription } from './fake-push-service.ts';

export interface FakeWebPushOptions {
  /** 0: any free port. */
  readonly port?: number;
  /** The host that endpoints name. */
  readonly host?: string;
  /** The address on which it listens. */
  readonly address?: string;
  /** Without it, it has no TLS. */
  readonly certificate?: Certificate;
  /** Whether it speaks HTTP/2 as well as HTTP/1.1. */
  readonly http2?: boolean;
  readonly nowMs?: () => number;
}

/** A message that was posted. */
export interface PostedMessage {
  readonly endpoint: string;
  readonly headers: Headers;
  /** The status of the answer; `undefined`: no answer. */
  readonly status: number | undefined;
  /** The decrypted text, if the message was accepted. */
  readonly text: string | undefined;
  /** Why it was refused, or why the browser cannot read it. */
  readonly fault: string | undefined;
}

/**
 * A fake push service with its browsers: it subscribes browsers, checks what is posted to them, and decrypts it.
 * Scripts name browsers by endpoint. `turn-away` and `go-away` only end the request without an answer, because Bun's
 * server cannot do more.
 */
export interface FakeWebPush extends AsyncDisposable {
  /** The origin of all endpoints. */
  readonly origin: string;
  readonly arrivals: NotificationLog<PostedMessage>;
  readonly script: FaultScript;
  /** Subscribes a new browser. */
  subscribe(applicationServerKey: string): FakeSubscription;
  /** Unsubscribes a browser: its endpoint answers 410 from now on. */
  unsubscribe(endpoint: string): void;
  /** The browser comes online. Returns the texts that waited for it, the oldest first. */
  collect(endpoint: string): readonly string[];
}

export function startFakeWebPush(options: FakeWebPushOptions = {}): FakeWebPush {
  const { certificate, host = 'localhost', nowMs = Date.now } = options;
  const arrivals = new NotificationLog<PostedMessage>();
  const script = new FaultScript();
  const server = Bun.serve({
    hostname: options.address ?? '127.0.0.1',
    port: options.port ?? 0,
    http2: options.http2 ?? true,
    // Scripted hangs are ended by the client.
    idleTimeout: 0,
    ...(certificate && { tls: certificate }),
    fetch: answer,
  });
  const origin = `${certificate === undefined ? 'http' : 'https'}://${host}:${server.port}`;
  const service = new FakePushService(origin);

  async function answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    if (request.method !== 'POST') return new Response('Only POST', { status: 405 });
    const body = await request.bytes();
    if (script.latencyMs > 0) await pause(monotonicTimers, script.latencyMs);

    const { headers } = request;
    const post = { endpoint: origin + path, headers };
    const act = script.take(post.endpoint);
    if (act?.act === 'answer') {
      const { status, fields = {}, body = '' } = act;
      arrivals.add({ ...post, status, text: undefined, fault: 'as scripted' });
      return new Response(body, { status, headers: fields });
    }
    if (act !== undefined && !AFTER_ACCEPTING.includes(act.act)) {
      arrivals.add({ ...post, status: undefined, text: undefined, fault: 'as scripted' });
      return brokenAnswer();
    }
    const verdict = service.receive(path, (name) => headers.get(name) ?? undefined, body, nowMs());
    const { status, text, fault } = verdict;
    arrivals.add({ ...post, status: act === undefined ? status : undefined, text, fault });
    if (act?.act === 'hang') return new Promise(() => undefined);
    return act === undefined
      ? new Response(verdict.body, { status, headers: verdict.headers })
      : brokenAnswer();
  }

  return {
    origin,
    arrivals,
    script,
    subscribe: (key) => service.subscribe(key),
    unsubscribe: (endpoint) => service.unsubscribe(endpoint),
    collect: (endpoint) => service.collect(endpoint, nowMs()),
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** Acts that take effect after the message was accepted. */
const AFTER_ACCEPTING: readonly Act['act'][] = ['hang', 'reset'];

/** Ends the connection, or with HTTP/2 the stream, instead of answering. */
function brokenAnswer(): Response {
  return new Response(new ReadableStream({ pull: (controller) => controller.error() }));
}
