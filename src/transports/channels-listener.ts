import type { Server } from 'bun';
import type { Hub } from '../channels/hub.ts';
import { after, type MaybePromise } from '../channels/maybe-promise.ts';
import { stackOf } from '../runtime/error-code.ts';
import { socketPath } from '../runtime/listen-host.ts';
import { type Certificate, CIPHER_SUITES } from '../runtime/tls/certificate.ts';
import type { ChannelsApi } from './channels-api/api.ts';
import { type ApiStatus, refuseRequest, statuses } from './channels-api/problems.ts';
import type { ClientAddresses } from './client-address.ts';
import {
  HEALTH_HEADERS,
  HEALTH_METHODS,
  type HealthAnswer,
  type ListenerHealth,
} from './health.ts';
import { isFallbackPath } from './http-fallback/session-path.ts';
import { answerStatistics, type StatisticsMeter } from './http-fallback/statistics.ts';
import type { FallbackTransport } from './http-fallback/transport.ts';
import { type KeepAlive, UNFINISHED_SECONDS } from './keep-alive.ts';
import type { PushGate } from './push-api/shared-port/push-gate.ts';
import { type RequestTarget, requestTarget, withoutPrefix } from './request-target.ts';
import { answerSdkScript } from './sdk-scripts.ts';
import { openToGroup } from './socket-file.ts';
import { readStreamPath } from './sse/read-request.ts';
import type { ReaderTransport } from './sse/transport.ts';
import type { HandshakeOutcome, WebSocketTransport } from './websocket/transport.ts';
import type { SocketData } from './websocket/websocket-connection.ts';

export interface ListenerSettings {
  readonly host: string;
  readonly port: number;
  readonly pathPrefix: string;
  readonly tls: Certificate | undefined;
  /** Whether several listeners of this process share the port. */
  readonly reusePort: boolean;
}

/** What this listener counts. */
export interface ListenerMeter extends StatisticsMeter {
  readonly count: StatisticsMeter['count'] & {
    (counter: 'connectionsRefused', by: number, why: 'handshake'): void;
    (counter: 'requests', by: number, status: ApiStatus): void;
  };
}

export interface ChannelsListenerOptions {
  readonly settings: ListenerSettings;
  readonly hub: Hub;
  readonly sockets: WebSocketTransport;
  readonly fallback: Pick<FallbackTransport, 'answer'>;
  readonly readers: Pick<ReaderTransport, 'answer'>;
  readonly api: ChannelsApi;
  readonly keepAlive: KeepAlive;
  readonly addresses: ClientAddresses;
  /** `undefined`: health checks are answered on the admin listener only. */
  readonly health: ListenerHealth | undefined;
  /** `undefined`: push has a port of its own. */
  readonly push: Pick<PushGate, 'takes' | 'answer'> | undefined;
  readonly meter: ListenerMeter;
}

/** Opens the port for clients and backends. Throws Bun's error if it is taken. */
export function listenForChannels({
  settings,
  hub,
  sockets,
  fallback,
  readers,
  api,
  keepAlive,
  addresses,
  health,
  push,
  meter,
}: ChannelsListenerOptions): Server<SocketData> {
  /** Answers a handshake that has not become a connection. */
  const refuseHandshake = (
    outcome: HandshakeOutcome,
    path: string,
    sender: () => string,
  ): Response | undefined => {
    if (outcome === 'taken') return undefined;
    if (outcome === 'too-often') {
      return refuseRequest('rate-limited', 'Too many connections from this address', {
        'retry-after': '10',
        connection: 'close',
      });
    }
    if (outcome === 'stopping') {
      return refuseRequest('stopping', 'Server is stopping', {
        'retry-after': '1',
        connection: 'close',
      });
    }
    const why = 'This is not a valid WebSocket handshake';
    meter.count('connectionsRefused', 1, 'handshake');
    hub.rateLimitedLog.info('Connection refused', { address: sender() }, { path, why });
    return refuseRequest('bad-handshake', why);
  };
  const answerHealth = (method: string, path: string): Response | undefined => {
    const answer = health?.answer(method, path);
    return answer && healthResponse(answer);
  };
  const answerPush = (
    request: Request,
    server: Server<SocketData>,
    target: RequestTarget,
  ): MaybePromise<Response> | undefined => {
    if (push?.takes(target.path) !== true) return undefined;
    return push.answer({ request, target, peer: addresses.peerOf(server.requestIP(request)) });
  };
  const opened = Bun.serve<SocketData>({
    ...placeOf(settings),
    development: false,
    idleTimeout: UNFINISHED_SECONDS,
    // The API limits bodies itself: Bun would answer without a text, a log line or a count.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(settings.tls === undefined ? {} : { tls: { ...settings.tls, ciphers: CIPHER_SUITES } }),
    fetch(request, server) {
      const target = requestTarget(request.url);
      // Only called if a log line or a limit needs it.
      const sender = () =>
        addresses.of(addresses.peerOf(server.requestIP(request)), request.headers);
      const path = withoutPrefix(target.path, settings.pathPrefix);
      // The method first: reading headers costs time, and most requests are triggers.
      if (request.method === 'GET' && asksForWebSocket(request, path)) {
        const outcome = sockets.upgrade(server, request, target);
        return after(outcome, (known) => refuseHandshake(known, target.path, sender));
      }
      if (isFallbackPath(path)) return fallback.answer(path, { request, server, target });
      const stream = readStreamPath(path);
      if (stream !== undefined) return readers.answer({ path: stream, request, server, target });
      const answer = keepAlive.answer(
        { request, server },
        answerPush(request, server, target) ??
          answerHealth(request.method, path) ??
          answerStatistics(request.method, path, meter) ??
          answerSdkScript(request, path) ??
          api.answer(request, target, sender),
      );
      return request.method === 'HEAD' ? after(answer, withDate) : answer;
    },
    error(error) {
      hub.rateLimitedLog.error('A request failed inside the server', {}, { error: stackOf(error) });
      meter.count('requests', 1, `${statuses.internal.status}`);
      return refuseRequest('internal', 'Internal server error');
    },
    websocket: sockets.handlers(),
  });
  openToGroup(settings.host);
  return opened;
}

/** Says where to listen. The types of Bun do not know that a Unix socket takes all other options, too. */
function placeOf({ host, port, reusePort }: ListenerSettings): {
  readonly hostname?: string;
  readonly port?: number;
  readonly reusePort?: boolean;
} {
  const path = socketPath(host);
  return path === undefined ? { hostname: host, port, reusePort } : ({ unix: path } as object);
}

function healthResponse({ status, text }: HealthAnswer): Response {
  const headers =
    status === 405 ? { ...HEALTH_HEADERS, allow: HEALTH_METHODS } : { ...HEALTH_HEADERS };
  return new Response(text, { status, headers });
}

/** Bun leaves `Date` out of answers to HEAD. */
function withDate(response: Response): Response {
  response.headers.set('date', new Date().toUTCString());
  return response;
}

/** `path`: without the prefix of the server. Some proxies add `Upgrade` to every request. */
function asksForWebSocket({ headers }: Request, path: string): boolean {
  if (headers.get('upgrade')?.toLowerCase() !== 'websocket' || path.startsWith('/apps/')) {
    return false;
  }
  // A WebSocket client at a wrong path gets a close code. Only WebSocket clients send this header.
  return path.startsWith('/app/') || headers.has('sec-websocket-key');
}
