import { createSecureContext } from 'node:tls';
import type { PushRefusal } from '../../push/refusal.ts';
import type { Log } from '../../runtime/ports.ts';
import { RateLimiter } from '../../runtime/rates/rate-limiter.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { every } from '../../runtime/time/every.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import type { ListenerHealth } from '../health.ts';
import { type PushBounds, pushBounds } from './bounds.ts';
import type { Endpoints, PushHead } from './call.ts';
import { statuses } from './problems.ts';
import type { PushConnection, RequestConnection } from './server/connection.ts';
import type { HttpFault, RequestHead } from './server/http/request-head.ts';
import { AddressTurns } from './server/http/turns.ts';
import { HttpServer, type HttpServerEvents, type ListenSettings } from './server/http-server.ts';
import { familyOfBytes, rawResponse, refusalOfFault } from './server/refusal-response.ts';
import { type PushMeter, type RequestContext, RequestHandler } from './server/request-handler.ts';
import { RequestLog } from './server/request-log.ts';
import { type PoolLoad, RequestPool } from './server/request-pool.ts';
import { RequestScheduler } from './server/request-scheduler.ts';
import { ForwardedConnection } from './shared-port/forwarded-connection.ts';
import type { ForwardedRequest } from './shared-port/forwarded-request.ts';

export interface PushListenerContext {
  readonly log: Log;
  readonly meter: PushMeter;
  readonly proxies: TrustedProxies;
  /** The prefix under which a proxy mounts this listener. */
  readonly pathPrefix: string;
  /** Answers health checks here too. Without it, their paths do not exist. */
  readonly health?: ListenerHealth | undefined;
}

/** Refuses a client without a secret key that sends too many requests, whatever it asks for. */
type LimitRate = (head: PushHead) => PushRefusal | undefined;

/** The cost of backend requests started per turn of the event loop, in units of 0.1 ms; less if several instances wait. */
const BACKEND_COST = 256;
const BACKEND_COST_SHARED = 64;

/** The cost of all other requests started per turn of the event loop; less while backends send requests. */
const ANONYMOUS_COST = 128;
const ANONYMOUS_COST_BESIDE = 8;

/** How long after a backend's request another one is likely. */
const BACKEND_MS = 100;

/** The burst of new connections of one address, in seconds of its rate. */
const CONNECTIONS_BURST_SECONDS = 5;

/** An open push listener. Disposing of it waits a bounded time for the answers to requests in progress. */
export class PushListener implements RequestContext, HttpServerEvents, AsyncDisposable {
  readonly bounds: PushBounds;
  readonly proxies: TrustedProxies;
  readonly pathPrefix: string;
  readonly health: ListenerHealth | undefined;
  readonly backends: RequestPool<number>;
  readonly backendScheduler = new RequestScheduler<number>((waitingInstances) =>
    waitingInstances > 1 ? BACKEND_COST_SHARED : BACKEND_COST,
  );
  readonly anonymous: RequestPool<string>;
  readonly anonymousScheduler = new RequestScheduler<string>(() =>
    performance.now() - this.backendAskedAtMs < BACKEND_MS ? ANONYMOUS_COST_BESIDE : ANONYMOUS_COST,
  );
  readonly receiving = new Set<RequestHandler>();
  readonly log: RequestLog;
  readonly meter: PushMeter;
  endpoints: Endpoints | undefined;
  limitRate: LimitRate = () => undefined;
  private settings: ListenSettings;
  /** The one that accepts connections, and those whose certificates were replaced until their connections end. */
  private readonly servers = new Set<HttpServer>();
  private replaced: Promise<void> = Promise.resolve();
  private backendAskedAtMs = Number.NEGATIVE_INFINITY;
  private isStopped = false;
  /** The turns of requests that came to the port of Channels. */
  private readonly turns = new AddressTurns();
  private readonly connecting = new RateLimiter<string>();
  private readonly stopSpeedChecks: () => void;

  private constructor(settings: ListenSettings, context: PushListenerContext, bounds: PushBounds) {
    const { log, meter, proxies, pathPrefix } = context;
    this.settings = settings;
    this.log = new RequestLog({ log, bounds, proxies });
    this.meter = meter;
    this.proxies = proxies;
    this.pathPrefix = pathPrefix;
    this.health = context.health;
    this.bounds = bounds;
    this.backends = new RequestPool(bounds.requests, bounds.heldBytes);
    this.anonymous = new RequestPool(bounds.requests, bounds.heldBytes);
    this.stopSpeedChecks = every(monotonicTimers, bounds.checkMs, () => {
      const nowMs = performance.now();
      for (const handler of this.receiving) handler.checkSpeed(nowMs);
    });
  }

  /** Opens the port of the push API. Rejects with the error of Node.js if it cannot, for example `EADDRINUSE`. */
  static async open(
    settings: ListenSettings,
    context: PushListenerContext,
    bounds: PushBounds = pushBounds,
  ): Promise<PushListener> {
    const listener = new PushListener(settings, context, bounds);
    listener.openServer();
    return listener;
  }

  /** Serves requests that come to the port of Channels, whose address this is. It opens no port. */
  static onSharedPort(
    address: ListenSettings,
    context: PushListenerContext,
    bounds: PushBounds = pushBounds,
  ): PushListener {
    return new PushListener(address, context, bounds);
  }

  get address(): { readonly host: string; readonly port: number; readonly tls: boolean } {
    const { host, port, tls } = this.settings;
    return { host, port, tls: tls !== undefined };
  }

  private openServer(): void {
    const server = new HttpServer(this.settings, this.bounds, this);
    this.settings = { ...this.settings, port: server.port };
    this.servers.add(server);
  }

  /** Serves these endpoints from now on. Until then, their paths are answered with 503. */
  serve(endpoints: Endpoints, limitRate: LimitRate): void {
    this.endpoints = endpoints;
    this.limitRate = limitRate;
  }

  /** What requests without a secret key hold now. */
  load(): PoolLoad {
    return this.anonymous.load();
  }

  /** The number of open connections. */
  connections(): number {
    let open = 0;
    for (const server of this.servers) open += server.connectionCount;
    return open;
  }

  /**
   * Sets the certificate of new connections. Open connections are closed: idle ones at once, the others after their
   * next answer. Rejects, and changes nothing, if the certificate cannot be used. Does nothing without TLS.
   */
  replaceCertificate(tls: Certificate): Promise<void> {
    // One after the other: each needs the port.
    const replaced = this.replaced.then(() => this.replace(tls));
    this.replaced = replaced.catch(() => undefined);
    return replaced;
  }

  private async replace(tls: Certificate): Promise<void> {
    const before = this.settings;
    // A shared port has the certificate of Channels.
    if (before.tls === undefined || this.isStopped || this.servers.size === 0) return;
    // Checked first: the old server must free the port before the new one can open it.
    createSecureContext({ cert: tls.cert, key: tls.key });
    for (const server of this.servers) this.retire(server);
    this.settings = { ...before, tls };
    try {
      this.openServer();
    } catch (error) {
      this.settings = before;
      this.openServer();
      throw error;
    }
  }

  /**
   * Closes a server. Node.js checks no timeouts of a closed server, so requests that take too long are aborted here.
   */
  private retire(server: HttpServer): void {
    const cancel = monotonicTimers.after(this.bounds.requestMs, () => server.end());
    void server.close().then(() => {
      cancel();
      this.servers.delete(server);
    });
  }

  /** Lets each connection close after its next answer, since the server will stop. */
  drain(): void {
    for (const server of this.servers) server.isClosing = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isStopped = true;
    await this.replaced;
    const cancel = monotonicTimers.after(this.bounds.stopMs, () => {
      for (const server of this.servers) server.end();
    });
    await Promise.all([...this.servers].map((server) => server.close()));
    cancel();
    this.stopSpeedChecks();
  }

  onRequest(head: RequestHead, connection: PushConnection): RequestHandler {
    return this.begin(head, connection);
  }

  /** Serves a request that came to the port of Channels. `answer` is called once, with the bytes of a response. */
  serveForwarded(request: ForwardedRequest, answer: (bytes: Uint8Array) => void): void {
    new ForwardedConnection({
      request,
      turns: this.turns,
      begin: (head, connection) => this.begin(head, connection),
      answer,
    }).goOn();
  }

  private begin(head: RequestHead, connection: RequestConnection): RequestHandler {
    const handler = new RequestHandler(this, head, connection);
    handler.begin();
    return handler;
  }

  /** Answers what is no request, and closes its connection. */
  onFault(fault: HttpFault | 'timeout', connection: PushConnection, start: Buffer): void {
    const refusal = refusalOfFault(fault);
    const family = familyOfBytes(start);
    // Only with this fault is the client likely to be still sending.
    const lingerMs = fault === 'head-too-large' ? this.bounds.lingerMs : 0;
    if (!connection.endWith(rawResponse(refusal, family), lingerMs)) return;
    this.log.refused(refusal, connection.peer);
    const { status } = statuses[refusal.problem];
    this.meter.count('pushRequests', 1, `${status}`);
  }

  onAdvance(connection: PushConnection): void {
    const why = 'too many requests without an answer';
    if (connection.cutOff()) this.log.connectionClosed(why, connection.peer);
  }

  onEvicted({ peer }: PushConnection): void {
    this.log.connectionEvicted(peer);
  }

  mayConnect({ peer }: PushConnection): boolean {
    const { connectionsPerSecond: perSecond } = this.bounds;
    // A trusted proxy connects for many clients.
    if (perSecond === 0 || this.proxies.trusts(peer.address)) return true;
    const rate = { perSecond, burst: perSecond * CONNECTIONS_BURST_SECONDS };
    if (this.connecting.take(peer.addressKey, rate, performance.now())) return true;
    this.log.connectionRefused(peer);
    return false;
  }

  backendAsked(): void {
    this.backendAskedAtMs = performance.now();
  }
}
