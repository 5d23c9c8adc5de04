import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureContext } from 'node:tls';
import { Refusal } from '../../push/refusal.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import { LogThrottle } from '../../runtime/log-throttle.ts';
import type { Log } from '../../runtime/ports.ts';
import { RateLimiter } from '../../runtime/rate-limiter.ts';
import type { TrustedProxies } from '../../runtime/trusted-proxies.ts';
import { type PushBounds, pushBounds } from './bounds.ts';
import type { Endpoints, PushHead } from './call.ts';
import type { Connection } from './connection.ts';
import { type ConnectionFault, Door, type DoorEvents, type DoorSettings } from './door.ts';
import { Exchange, type ExchangeContext, type PushMeter } from './exchange.ts';
import { FairTurns } from './fair-turns.ts';
import { statuses } from './problems.ts';
import { RefusalLog } from './refusal-log.ts';
import { familyOfPacket, rawAnswer, refusalOfFault } from './refused.ts';
import { type PoolLoad, RequestPool } from './request-pool.ts';
import type { PushFamily } from './routes.ts';

export interface PushListenerContext {
  readonly log: Log;
  readonly meter: PushMeter;
  readonly proxies: TrustedProxies;
}

/** An open push listener. To dispose of it lets the requests under way have their answers, within a bound. */
export interface PushListener extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number; readonly tls: boolean };
  /**
   * Serves these from now on; before, their paths are answered with 503. `slowDown` says whether a client asks too
   * often that has no secret key, whatever it asks for.
   */
  serve(endpoints: Endpoints, slowDown: (head: PushHead) => Refusal | undefined): void;
  /**
   * Takes new connections with another certificate; of those that are open, idle ones end at once, the others
   * with their next answer. Fails, and leaves everything as it is, where the certificate cannot be used. Does
   * nothing on a listener without TLS.
   */
  replaceCertificate(tls: Certificate): Promise<void>;
  /** What requests without a secret key hold now. */
  load(): PoolLoad;
  /** How many connections there are now. */
  connections(): number;
}

/** Opens the port of the push side. Fails with what Node.js gives where it cannot, such as `EADDRINUSE`. */
export async function listenForPush(
  settings: DoorSettings,
  context: PushListenerContext,
  bounds: PushBounds = pushBounds,
): Promise<PushListener> {
  const listener = new Listener(settings, context, bounds);
  await listener.open();
  return listener;
}

/** What is begun in one turn of the loop for backends, in tenths of milliseconds; less where several instances wait. */
const BACKEND_COST = 256;
const BACKEND_COST_SHARED = 64;

/** The same for all others, and while backends are asking. */
const ANONYMOUS_COST = 128;
const ANONYMOUS_COST_BESIDE = 8;

/** Milliseconds after a request of a backend in which others are likely to follow. */
const BACKEND_MS = 100;

/** Seconds of new connections that may come at once. */
const CONNECTIONS_BURST_SECONDS = 5;

/** It is never set, unlike the clock of the system. */
const monotonic = { now: () => performance.now() };

class Listener implements PushListener, ExchangeContext, DoorEvents {
  readonly bounds: PushBounds;
  readonly proxies: TrustedProxies;
  readonly backends: RequestPool<number>;
  readonly anonymous: RequestPool<string>;
  readonly backendTurns = new FairTurns<number>((waitingInstances) =>
    waitingInstances > 1 ? BACKEND_COST_SHARED : BACKEND_COST,
  );
  readonly anonymousTurns = new FairTurns<string>(() =>
    performance.now() - this.backendMs < BACKEND_MS ? ANONYMOUS_COST_BESIDE : ANONYMOUS_COST,
  );
  readonly receiving = new Set<Exchange>();
  readonly log: Log;
  readonly refusals = new RefusalLog(monotonic);
  readonly meter: PushMeter;
  endpoints: Endpoints | undefined;
  slowDown: (head: PushHead) => Refusal | undefined = () => undefined;
  private settings: DoorSettings;
  private readonly doors = new Set<Door>();
  private replaced: Promise<void> = Promise.resolve();
  private backendMs = Number.NEGATIVE_INFINITY;
  private stopped = false;
  private readonly connecting = new RateLimiter<string>();
  private readonly bites = new LogThrottle(monotonic);
  private readonly speedChecks: NodeJS.Timeout;

  constructor(settings: DoorSettings, context: PushListenerContext, bounds: PushBounds) {
    this.settings = settings;
    this.log = context.log;
    this.meter = context.meter;
    this.proxies = context.proxies;
    this.bounds = bounds;
    this.backends = new RequestPool(bounds.requests, bounds.heldBytes);
    this.anonymous = new RequestPool(bounds.requests, bounds.heldBytes);
    this.speedChecks = setInterval(() => {
      const nowMs = performance.now();
      for (const exchange of this.receiving) exchange.checkSpeed(nowMs);
    }, bounds.checkMs);
  }

  get address(): PushListener['address'] {
    const { host, port, tls } = this.settings;
    return { host, port, tls: tls !== undefined };
  }

  async open(): Promise<void> {
    const door = await Door.open(this.settings, this.bounds, this);
    this.settings = { ...this.settings, port: door.port };
    this.doors.add(door);
  }

  serve(endpoints: Endpoints, slowDown: (head: PushHead) => Refusal | undefined): void {
    this.endpoints = endpoints;
    this.slowDown = slowDown;
  }

  load(): PoolLoad {
    return this.anonymous.load();
  }

  connections(): number {
    let open = 0;
    for (const door of this.doors) open += door.size;
    return open;
  }

  replaceCertificate(tls: Certificate): Promise<void> {
    // One after the other: each needs the port.
    const replaced = this.replaced.then(() => this.replace(tls));
    this.replaced = replaced.catch(() => undefined);
    return replaced;
  }

  private async replace(tls: Certificate): Promise<void> {
    const before = this.settings;
    if (before.tls === undefined || this.stopped) return;
    // Tried first, since the old door must be shut before the new one can be opened.
    createSecureContext({ cert: tls.cert, key: tls.key });
    for (const door of this.doors) this.shut(door);
    this.settings = { ...before, tls };
    try {
      await this.open();
    } catch (error) {
      this.settings = before;
      await this.open();
      throw error;
    }
  }

  /** Its connections have as long as a request may take: Node.js looks after no time once it is closed. */
  private shut(door: Door): void {
    const timer = setTimeout(() => door.end(), this.bounds.requestMs);
    void door.close().then(() => {
      clearTimeout(timer);
      this.doors.delete(door);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopped = true;
    await this.replaced;
    const timer = setTimeout(() => {
      for (const door of this.doors) door.end();
    }, this.bounds.stopMs);
    await Promise.all([...this.doors].map((door) => door.close()));
    clearTimeout(timer);
    clearInterval(this.speedChecks);
  }

  request(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    asksFirst: boolean,
  ): void {
    new Exchange(this, connection, request, response, asksFirst).begin();
  }

  fault({ code = '', rawPacket }: ConnectionFault, connection: Connection): void {
    // More came than was announced as the last request. It gets its answer, and nothing else does.
    if (code === 'HPE_CLOSED_CONNECTION') return;
    const refusal = refusalOfFault(code);
    if (refusal === undefined || !connection.writable) {
      connection.destroy();
    } else if (connection.receiving !== undefined) {
      connection.receiving.breakOff(refusal);
    } else {
      // Of all faults, only this one comes while a client is likely to be sending still.
      const lingerMs = refusal.problem === 'head-too-large' ? this.bounds.lingerMs : 0;
      this.refuse(connection, refusal, familyOfPacket(rawPacket), lingerMs);
    }
  }

  tunnel(connection: Connection): void {
    const refusal = new Refusal('bad-request', 'CONNECT is for proxies, and this is none');
    this.refuse(connection, refusal, 'other', 0);
  }

  heardBackend(): void {
    this.backendMs = performance.now();
  }

  mayConnect({ peer, peerKey }: Connection): boolean {
    const { connectionsPerSecond } = this.bounds;
    const rate = {
      perSecond: connectionsPerSecond,
      burst: connectionsPerSecond * CONNECTIONS_BURST_SECONDS,
    };
    // A proxy that is trusted connects for many, and was told by its operator how often it may.
    if (connectionsPerSecond === 0 || this.proxies.trusts(peer)) return true;
    if (this.connecting.take(peerKey, rate, performance.now())) return true;
    this.bites.run(`connecting ${peerKey}`, (throttled) =>
      this.log.warn('Push connections of an address closed: it connects too often', {
        address: peer,
        setting: 'push.addressLimits.connectionsPerSecond',
        limit: connectionsPerSecond,
        ...this.proxyHint(peer),
        ...throttled,
      }),
    );
    return false;
  }

  crowdedOut({ peer, peerKey }: Connection): void {
    this.bites.run(`connections ${peerKey}`, (throttled) =>
      this.log.warn('Push connections closed: there are as many as allowed', {
        address: peer,
        setting: 'push.maxConnections',
        limit: this.bounds.connections,
        ...this.proxyHint(peer),
        ...throttled,
      }),
    );
  }

  crowded(
    { address, addressKey }: Pick<PushHead, 'address' | 'addressKey'>,
    instance: number | undefined,
  ): void {
    const { requests, heldBytes } = this.bounds;
    const limits = { requests, bytes: heldBytes };
    if (instance === undefined) {
      this.bites.run(`requests ${addressKey}`, (throttled) =>
        this.log.warn('Push requests of an address refused: too many are under way', {
          address,
          ...limits,
          ...this.proxyHint(address),
          ...throttled,
        }),
      );
    } else {
      this.bites.run(`requests of ${instance}`, (throttled) =>
        this.log.warn('Push requests of a backend refused: too many are under way', {
          address,
          ...limits,
          ...throttled,
        }),
      );
    }
  }

  /** What to do where an address is that of a proxy, and stands for many clients. */
  private proxyHint(address: string): { readonly hint?: string } {
    return this.proxies.trusts(address)
      ? {}
      : { hint: 'if it is a proxy of yours, name it in trustedProxies' };
  }

  /** Answers what is no request that could be answered. */
  private refuse(connection: Connection, refusal: Refusal, family: PushFamily, lingerMs: number) {
    if (!connection.endWith(rawAnswer(refusal, family), lingerMs)) return;
    const { status } = statuses[refusal.problem];
    const { peer, peerKey } = connection;
    this.refusals.run(peerKey, (throttled) =>
      this.log.info('Push request refused', {
        address: peer,
        status,
        why: refusal.description,
        ...throttled,
      }),
    );
    this.meter.count('pushRequests', 1, family, String(status));
  }
}
