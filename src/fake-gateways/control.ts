import { type JsonObject, readJsonObject } from '../runtime/json-object.ts';
import type { NotificationLog } from './notification-log.ts';
import type { ReceivedNotification } from './received.ts';
import type { FaultScript } from './script.ts';
import { readScriptRequest } from './script-request.ts';
import type { FakeSubscription } from './web/fake-push-service.ts';

export interface ControlOptions {
  readonly address: string;
  readonly port: number;
  readonly received: NotificationLog<ReceivedNotification>;
  readonly scripts: Readonly<Record<ReceivedNotification['gateway'], FaultScript>>;
  /** Subscribes a new browser. */
  readonly subscribe: (applicationServerKey: string) => FakeSubscription;
  /** Settings of an instance that uses these gateways. */
  readonly settings: JsonObject;
}

/** The running HTTP API. */
export interface Control extends AsyncDisposable {
  readonly port: number;
}

type Answer = (request: Request, body: JsonObject) => Response;

const BODY_BYTES_MAX = 1024 * 1024;

/** Serves the HTTP API by which tests in any language read what arrived and script faults. */
export function serveControl(options: ControlOptions): Control {
  const { received, scripts, settings } = options;

  const routes: Readonly<Record<string, Readonly<Record<string, Answer>>>> = {
    '/settings': { GET: () => Response.json(settings) },
    '/received': {
      GET: (request) => Response.json({ received: listed(received, new URL(request.url)) }),
      DELETE() {
        received.clear();
        return noContent();
      },
    },
    '/script': {
      POST(_request, body) {
        const read = readScriptRequest(body);
        if (typeof read === 'string') return refuse(400, read);
        const script = scripts[read.gateway];
        if (read.what === 'latency') script.latencyMs = read.latencyMs;
        else if (read.to === undefined) script.forNext(read.times ?? 1, read.act);
        else script.forToken(read.to, read.act, read.times);
        return noContent();
      },
      DELETE() {
        for (const script of Object.values(scripts)) script.clear();
        return noContent();
      },
    },
    '/subscriptions': {
      POST(_request, { applicationServerKey }) {
        return typeof applicationServerKey === 'string'
          ? Response.json(options.subscribe(applicationServerKey), { status: 201 })
          : refuse(400, 'applicationServerKey must be the public VAPID key');
      },
    },
  };

  const server = Bun.serve({
    hostname: options.address,
    port: options.port,
    maxRequestBodySize: BODY_BYTES_MAX,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const route = Object.hasOwn(routes, pathname) ? routes[pathname] : undefined;
      if (route === undefined)
        return refuse(404, `unknown path; known paths: ${Object.keys(routes).join(', ')}`);
      const answer = Object.hasOwn(route, request.method) ? route[request.method] : undefined;
      if (answer === undefined) {
        const allow = Object.keys(route).join(', ');
        return refuse(405, `${pathname} allows ${allow}`, { allow });
      }
      const body = request.method === 'POST' ? readJsonObject(await request.bytes()) : {};
      return body === undefined
        ? refuse(400, 'the body must be a JSON object')
        : answer(request, body);
    },
  });
  return {
    port: server.port ?? options.port,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}

/** What arrived, the oldest first; optionally only at one gateway or for one device. */
function listed(
  received: NotificationLog<ReceivedNotification>,
  { searchParams }: URL,
): readonly ReceivedNotification[] {
  const gateway = searchParams.get('gateway');
  const to = searchParams.get('to');
  return received
    .list()
    .filter(
      (one) => (gateway === null || one.gateway === gateway) && (to === null || one.to === to),
    );
}

function noContent(): Response {
  return new Response(null, { status: 204 });
}

function refuse(
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ error }, { status, headers });
}
