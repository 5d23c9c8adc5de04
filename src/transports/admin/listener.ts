import { type Caller, NOBODY } from '../../runtime/caller.ts';
import { stackOf } from '../../runtime/error-code.ts';
import { LogThrottle } from '../../runtime/logging/log-throttle.ts';
import { printable } from '../../runtime/logging/printable.ts';
import type { Log } from '../../runtime/ports.ts';
import { RateLimiter } from '../../runtime/rates/rate-limiter.ts';
import { monotonicTimers, withTimeout } from '../../runtime/system-timers.ts';
import { every } from '../../runtime/time/every.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { PARAMETERS_MAX, withoutPrefix } from '../request-target.ts';
import {
  Access,
  type Denial,
  type DenialReason,
  type Identified,
  type LogIn,
  type RequestSender,
  type UserProxy,
} from './access.ts';
import { type AdminAnswer, refuse, textAnswer } from './answers.ts';
import { type AdminBounds, adminBounds } from './bounds.ts';
import { type AdminRequest, AdminServer, type ServerRefusal } from './http-server.ts';
import { readJson } from './json-body.ts';
import { isLocal } from './origin-of-request.ts';
import type { Readiness } from './readiness.ts';
import type { AdminRequestHead } from './request-head.ts';
import {
  type AdminCall,
  type AdminRoute,
  type CallSession,
  type FoundAdminRoute,
  findRoute,
} from './routes.ts';
import { BrowserSessions } from './sessions.ts';

/** Why a request was refused, as metrics count it. */
export type AdminRefusal = DenialReason | 'no-role' | ServerRefusal;

export interface AdminListenerOptions {
  readonly host: string;
  readonly port: number;
  /** The prefix under which a proxy mounts the listener; empty for none. */
  readonly pathPrefix?: string;
  /** `undefined` if there is none: every request is denied. */
  readonly password: () => string | undefined;
  /** Whether programs on this machine may read metrics without the password. */
  readonly metricsAreOpen: boolean;
  readonly trustedProxies: TrustedProxies;
  /** The proxy that checks users itself; `undefined`: none does. */
  readonly userProxy?: UserProxy | undefined;
  readonly readiness: Readiness;
  /** The name of this server, which health checks of programs on this machine get. */
  readonly serverName: string;
  readonly log: Log;
  readonly onRefused: (why: AdminRefusal) => void;
  readonly bounds?: AdminBounds;
}

/** An open admin listener. */
export interface AdminListener extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number; readonly tls: boolean };
  /** Serves routes from now on, which each request but health checks asks for. Before, requests are answered with 503. */
  serve(routes: () => readonly AdminRoute[]): void;
  /** Makes the token of a link that logs in once, within ten minutes. */
  makeLogInLink(): string;
  /** Lets each connection close after its next answer, since the server will stop. */
  drain(): void;
  /** Answers the requests in progress, for a second at most. Later ones get 503, except health checks. */
  stopServing(): Promise<void>;
}

/** Names the server that answers a health check: another one may have its port. */
const SERVER_HEADER = 'x-fanfare-server';

/** How long a stop waits for answers. Milliseconds. */
const STOP_WAIT_MS = 1000;

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
      handler.reportRefused(why, { sender: { address, key: address } });
    },
  });
  return {
    address: { host, port: server.port, tls: false },
    serve(routes) {
      handler.routes = routes;
    },
    makeLogInLink: () => handler.sessions.makeLink(),
    drain: () => server.drain(),
    async stopServing() {
      handler.isStopping = true;
      await withTimeout(STOP_WAIT_MS, server.answered());
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** What is known of a refused request. */
interface Refused {
  readonly sender: Pick<RequestSender, 'address' | 'key'> & {
    readonly throughUnknownProxy?: boolean;
  };
  /** `undefined` if the request was refused before its head was read. */
  readonly head?: AdminRequestHead;
  /** The name that a proxy gave. */
  readonly user?: string | null;
}

interface KnownRequest {
  readonly request: AdminRequest;
  readonly sender: RequestSender;
  readonly caller: Caller;
  readonly isOpen: boolean;
}

/** Answers requests: health checks for everyone, everything else with the password. */
class RequestHandler {
  routes: (() => readonly AdminRoute[]) | undefined;
  isStopping = false;
  readonly sessions: BrowserSessions;
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
    const { password, pathPrefix: path } = options;
    this.sessions = new BrowserSessions({ password, path, now: Date.now });
    this.access = new Access({
      ...options,
      sessions: this.sessions,
      now: () => performance.now(),
    });
    this.throttle = new LogThrottle(performance);
  }

  /** Never throws. */
  async answer(given: AdminRequest): Promise<AdminAnswer> {
    const request = asGet(this.withoutPrefix(given));
    const { head } = request;
    const sender = this.access.senderOf(head);
    const before = this.inFlight.get(sender.key) ?? 0;
    const { requestsPerAddress, requestRate } = this.bounds;
    if (
      before >= requestsPerAddress ||
      !this.rates.take(sender.key, requestRate, performance.now())
    ) {
      this.reportRefused('too-many-requests', { sender, head });
      // Closed, so that a client that continues pays for a new connection each time.
      return refuse(429, 'Too many requests from this address; try again', {
        'retry-after': '1',
        connection: 'close',
      });
    }
    this.inFlight.set(sender.key, before + 1);
    try {
      return await this.answerOne(request, sender);
    } catch (error) {
      const text = stackOf(error);
      this.options.log.error('An admin request failed', { error: text });
      return refuse(500, 'Internal server error; see the log');
    } finally {
      const left = (this.inFlight.get(sender.key) ?? 1) - 1;
      if (left > 0) this.inFlight.set(sender.key, left);
      else this.inFlight.delete(sender.key);
    }
  }

  private withoutPrefix(request: AdminRequest): AdminRequest {
    const { pathPrefix = '' } = this.options;
    if (pathPrefix === '') return request;
    const { head } = request;
    const path =
      head.target.path === pathPrefix ? '/' : withoutPrefix(head.target.path, pathPrefix);
    return { ...request, head: { ...head, target: { ...head.target, path } } };
  }

  /** Counts a refusal, and logs it once a minute for each client. */
  reportRefused(why: AdminRefusal, { sender, head, user }: Refused): void {
    const { log, onRefused } = this.options;
    onRefused(why);
    this.throttle.run(`${why} ${sender.key}`, (throttled) =>
      log.info('Admin request refused', {
        why,
        address: sender.address,
        who: user ?? undefined,
        method: head?.method,
        path: head === undefined ? undefined : printable(head.target.path),
        ...throttled,
        hint: sender.throughUnknownProxy
          ? 'It came through a proxy: add the proxy to trustedProxies to distinguish its clients'
          : undefined,
      }),
    );
  }

  private async answerOne(request: AdminRequest, sender: RequestSender): Promise<AdminAnswer> {
    const { head } = request;
    if (head.header('host') === undefined && !head.isHttp10) {
      return refuse(400, 'The Host header is missing');
    }
    const health = this.healthOf(head);
    if (health !== undefined) return head.method === 'GET' ? health : methodNotAllowed(['GET']);
    const routes = this.routes?.();
    const found =
      routes === undefined
        ? undefined
        : findRoute(routes, { method: head.method, target: head.target });
    const isOpen = found?.found === 'route' && found.route.isOpen?.(found.path) === true;
    const identified = isOpen
      ? this.identifyNobody(head)
      : orNobody(this.access.identify(head, sender), { found, head });
    if (this.access.hasUntrustedUser(head)) this.reportUntrustedUser(sender);
    if (identified.denial !== undefined) {
      return this.deny(identified.denial, { sender, head });
    }
    if (this.isStopping) return refuse(503, 'The server is stopping');
    if (found === undefined) return refuse(503, 'The server is starting');
    const { caller } = identified;
    return await this.answerRoute(found, { request, sender, caller, isOpen });
  }

  private identifyNobody(head: AdminRequestHead): ReturnType<Access['identify']> {
    const denial = this.access.denyOtherSites(head);
    return denial === undefined ? { caller: NOBODY } : { denial };
  }

  private async answerRoute(found: FoundAdminRoute, known: KnownRequest): Promise<AdminAnswer> {
    const { request, sender, caller, isOpen } = known;
    const { head } = request;
    switch (found.found) {
      case 'nothing':
        return refuse(404, 'There is no such path');
      case 'path':
        return methodNotAllowed(found.methods);
      case 'route': {
        const { route, path } = found;
        const query = queryOf(head.target.query);
        if (query === undefined)
          return refuse(400, `The query has more than ${PARAMETERS_MAX} parameters`);
        const body =
          head.method === 'GET'
            ? ({ ok: true, value: undefined } as const)
            : await readJson(request);
        if (!body.ok) return refuse(body.status, body.error);
        const headers: { 'set-cookie'?: string[] } = {};
        const session = this.sessionOf({ head, sender }, headers);
        const stream = new AbortController();
        const signal = AbortSignal.any([request.signal, stream.signal]);
        const call: AdminCall = {
          path,
          query,
          body: body.value,
          head,
          sender,
          caller,
          session,
          signal,
          reportRefused: (why) => this.reportRefused(why, { sender, head, user: caller.user }),
        };
        const answer = await route.answer(call);
        if (answer.body instanceof ReadableStream && !isOpen) this.watchStream(call, stream);
        return { ...answer, headers: { ...answer.headers, ...headers } };
      }
      default:
        return found satisfies never;
    }
  }

  /** Ends a streamed answer when its client is no longer authorised: the session expired, or the password changed. */
  private watchStream({ head, signal }: AdminCall, stream: AbortController): void {
    const stop = every(monotonicTimers, this.bounds.accessMs, () => {
      if (!this.access.isStillIdentified(head)) stream.abort('session-over');
    });
    signal.addEventListener('abort', stop, { once: true });
  }

  /** `headers` gets the cookies. */
  private sessionOf(
    { head, sender }: { readonly head: AdminRequestHead; readonly sender: RequestSender },
    headers: { 'set-cookie'?: string[] },
  ): CallSession {
    const isSecure = this.access.isOverHttps(head);
    return {
      logIn: (given: LogIn) => {
        const denial = this.access.checkLogIn(given, sender);
        if (denial !== undefined) {
          this.reportRefused(denial.reason, { sender, head });
          return denial;
        }
        headers['set-cookie'] = this.sessions.open({ isSecure });
        this.options.log.info('Logged in to the dashboard', {
          by: 'token' in given ? 'link' : 'password',
          address: sender.address,
        });
        return undefined;
      },
      logOut: () => {
        headers['set-cookie'] = this.sessions.close({ isSecure });
      },
      makeLink: () => this.sessions.makeLink(),
    };
  }

  private deny(
    denial: Denial,
    refused: Refused & { readonly head: AdminRequestHead },
  ): AdminAnswer {
    this.reportRefused(denial.reason, refused);
    return denied(denial, refused.head);
  }

  private reportUntrustedUser({ address, key }: RequestSender): void {
    this.throttle.run(`untrusted user ${key}`, (throttled) =>
      this.options.log.warn('User header ignored: its sender is not in admin.proxy.trust', {
        address,
        ...throttled,
      }),
    );
  }

  /** Health checks. They need no password, because load balancers have none. */
  private healthOf(head: AdminRequestHead): AdminAnswer | undefined {
    const answer = this.healthAt(head.target.path);
    if (answer === undefined || !isLocal(head)) return answer;
    return { ...answer, headers: { [SERVER_HEADER]: this.options.serverName } };
  }

  private healthAt(path: string): AdminAnswer | undefined {
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

/** HEAD is answered as GET is, and the server leaves out the body. */
function asGet(request: AdminRequest): AdminRequest {
  const { head } = request;
  return head.method === 'HEAD' ? { ...request, head: { ...head, method: 'GET' } } : request;
}

/** Parses a query; the last of repeated parameters counts. `undefined` if there are too many. */
function queryOf(text: string): Readonly<Record<string, string>> | undefined {
  const parameters = new URLSearchParams(text);
  return parameters.size > PARAMETERS_MAX ? undefined : Object.fromEntries(parameters);
}

function denied({ status, error, retryAfterSeconds }: Denial, head: AdminRequestHead): AdminAnswer {
  // A browser would ask for the password in a box of its own; the dashboard has a page for that.
  const isBrowser = head.headerNames.some((name) => name.startsWith('sec-fetch-'));
  return refuse(status, error, {
    ...(status === 401 && !isBrowser ? { 'www-authenticate': 'Basic realm="Fanfare"' } : {}),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
}

function methodNotAllowed(methods: readonly string[]): AdminAnswer {
  const allow = methods.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : one)).join(', ');
  return refuse(405, `This path only supports ${allow}`, { allow });
}

/** Admits an anonymous request if its route is open to everybody. */
function orNobody(
  identified: Identified,
  { found, head }: { readonly found: FoundAdminRoute | undefined; readonly head: AdminRequestHead },
): Identified {
  const reason = identified.denial?.reason;
  if (reason !== 'password-missing' && reason !== 'session-over') return identified;
  if (found?.found !== 'route') return identified;
  const isForNobody = found.route.isForNobody?.(queryOf(head.target.query) ?? {}) === true;
  return isForNobody ? { caller: NOBODY } : identified;
}
