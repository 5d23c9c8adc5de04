import { LogThrottle } from '../../runtime/log-throttle.ts';
import type { Log } from '../../runtime/ports.ts';
import { printable } from '../../runtime/printable.ts';
import { RateLimiter } from '../../runtime/rate-limiter.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { PARAMETERS_MAX } from '../request-target.ts';
import { Access, type Denial, type DenialReason, type Sender } from './access.ts';
import { type AdminAnswer, refuse, textAnswer } from './answers.ts';
import { type AdminBounds, adminBounds } from './bounds.ts';
import { type AdminRequest, AdminServer } from './http-server.ts';
import { readJson } from './json-body.ts';
import type { Readiness } from './readiness.ts';
import type { RequestHead } from './request-head.ts';
import { type AdminRoute, findRoute } from './routes.ts';

/** Why a request was refused, as metrics count it. */
export type AdminRefusal =
  | DenialReason
  | 'too-many-requests'
  | 'too-many-connections'
  | 'too-slow'
  | 'not-http';

export interface AdminListenerOptions {
  readonly host: string;
  readonly port: number;
  /** `undefined` if there is none: every request is denied. */
  readonly password: () => string | undefined;
  /** Whether programs on this machine may read metrics without the password. */
  readonly metricsAreOpen: boolean;
  readonly trustedProxies: TrustedProxies;
  readonly readiness: Readiness;
  readonly log: Log;
  readonly onRefused: (why: AdminRefusal) => void;
  readonly bounds?: AdminBounds;
}

/** An open admin listener. */
export interface AdminListener extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number; readonly tls: boolean };
  /** Serves these routes from now on. Before, they are answered with 503. */
  serve(routes: readonly AdminRoute[]): void;
}

/** Opens the listener for operators. Rejects with the error of Node.js if the port cannot be opened. */
export async function listenForAdmin(options: AdminListenerOptions): Promise<AdminListener> {
  const { host, bounds = adminBounds } = options;
  const handler = new RequestHandler(options, bounds);
  const server = await AdminServer.open({
    host,
    port: options.port,
    bounds,
    answer: (request) => handler.answer(request),
    onRefused(why, address) {
      const reason = why === 'connections' ? 'too-many-connections' : why;
      handler.reportRefused(reason, { sender: { address, key: address } });
    },
  });
  return {
    address: { host, port: server.port, tls: false },
    serve(routes) {
      handler.routes = routes;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** What is known of a refused request. */
interface Refused {
  readonly sender: Pick<Sender, 'address' | 'key'> & { readonly throughUnknownProxy?: boolean };
  /** `undefined` if the request was refused before its head was read. */
  readonly head?: RequestHead;
}

/** Answers requests: health checks for everyone, everything else with the password. */
class RequestHandler {
  routes: readonly AdminRoute[] | undefined;
  private readonly options: AdminListenerOptions;
  private readonly bounds: AdminBounds;
  private readonly access: Access;
  private readonly throttle: LogThrottle;
  private readonly rates = new RateLimiter<string>();
  /** Requests in flight, by the key of the client. */
  private readonly inFlight = new Map<string, number>();

  constructor(options: AdminListenerOptions, bounds: AdminBounds) {
    this.options = options;
    this.bounds = bounds;
    this.access = new Access({ ...options, now: () => performance.now() });
    this.throttle = new LogThrottle(performance);
  }

  /** Never throws. */
  async answer(request: AdminRequest): Promise<AdminAnswer> {
    const { head } = request;
    const sender = this.access.senderOf(head);
    const before = this.inFlight.get(sender.key) ?? 0;
    const { requestsPerAddress, requestRate } = this.bounds;
    if (
      before >= requestsPerAddress ||
      !this.rates.take(sender.key, requestRate, performance.now())
    ) {
      this.reportRefused('too-many-requests', { sender, head });
      // Closed, so that a client that goes on pays for a new connection each time.
      return refuse(429, 'Too many requests from this address; try again', {
        'retry-after': '1',
        connection: 'close',
      });
    }
    this.inFlight.set(sender.key, before + 1);
    try {
      return await this.answerOne(request, sender);
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.options.log.error('An admin request failed', { error: text });
      return refuse(500, 'Internal server error; see the log');
    } finally {
      const left = (this.inFlight.get(sender.key) ?? 1) - 1;
      if (left > 0) this.inFlight.set(sender.key, left);
      else this.inFlight.delete(sender.key);
    }
  }

  /** Counts a refusal, and logs it once a minute for each client. */
  reportRefused(why: AdminRefusal, { sender, head }: Refused): void {
    const { log, onRefused } = this.options;
    onRefused(why);
    this.throttle.run(`${why} ${sender.key}`, (throttled) =>
      log.info('Admin request refused', {
        why,
        address: sender.address,
        method: head?.method,
        path: head === undefined ? undefined : printable(head.target.path),
        ...throttled,
        hint: sender.throughUnknownProxy
          ? 'It came through a proxy: add the proxy to trustedProxies to tell its clients apart'
          : undefined,
      }),
    );
  }

  private async answerOne(request: AdminRequest, sender: Sender): Promise<AdminAnswer> {
    const { head } = request;
    if (head.header('host') === undefined && !head.isHttp10) {
      return refuse(400, 'The Host header is missing');
    }
    const health = this.healthOf(head.target.path);
    if (health !== undefined) return head.method === 'GET' ? health : methodNotAllowed(['GET']);
    const denial = this.access.check(head, sender);
    if (denial !== undefined) {
      this.reportRefused(denial.reason, { sender, head });
      return denied(denial);
    }
    return this.routes === undefined
      ? refuse(503, 'The server is starting')
      : await answerRoute(this.routes, { request, address: sender.address });
  }

  /** Health checks, which need no password: load balancers have none. */
  private healthOf(path: string): AdminAnswer | undefined {
    switch (path) {
      case '/healthz':
        return textAnswer(200, 'ok\n');
      case '/readyz': {
        const { readiness } = this.options;
        const reasons = readiness.reasons();
        return reasons.length === 0
          ? textAnswer(200, ['ready', ...readiness.notes(), ''].join('\n'))
          : textAnswer(503, `not ready\n${reasons.join('\n')}\n`);
      }
      default:
        return undefined;
    }
  }
}

async function answerRoute(
  routes: readonly AdminRoute[],
  { request, address }: { readonly request: AdminRequest; readonly address: string },
): Promise<AdminAnswer> {
  const { method, target } = request.head;
  const found = findRoute(routes, { method, target });
  switch (found.found) {
    case 'nothing':
      return refuse(404, 'There is no such path');
    case 'path':
      return methodNotAllowed(found.methods);
    case 'route': {
      const { route, path } = found;
      const query = queryOf(target.query);
      if (query === undefined)
        return refuse(400, `The query has more than ${PARAMETERS_MAX} parameters`);
      if (method === 'GET') return await route.answer({ path, query, body: undefined, address });
      const body = await readJson(request);
      if (!body.ok) return refuse(body.status, body.error);
      return await route.answer({ path, query, body: body.value, address });
    }
    default:
      return found satisfies never;
  }
}

/** Parses a query; the last of repeated parameters counts. `undefined` if there are too many. */
function queryOf(text: string): Readonly<Record<string, string>> | undefined {
  const parameters = new URLSearchParams(text);
  return parameters.size > PARAMETERS_MAX ? undefined : Object.fromEntries(parameters);
}

function denied({ status, error, retryAfterSeconds }: Denial): AdminAnswer {
  return refuse(status, error, {
    ...(status === 401 ? { 'www-authenticate': 'Basic realm="Fanfare"' } : {}),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
}

function methodNotAllowed(methods: readonly string[]): AdminAnswer {
  const allow = methods.join(', ');
  return refuse(405, `This path only supports ${allow}`, { allow });
}
