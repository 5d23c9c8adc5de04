import type { Timers } from '../../runtime/ports.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { FindAddresses } from './connecting/addresses.ts';
import { type ConnectFailure, Http2Connector } from './connecting/connector.ts';
import { createOpenWire, type OpenWire } from './connecting/open-wire.ts';
import { ReconnectPause } from './connecting/reconnect-pause.ts';
import type { Wire } from './connecting/wire.ts';
import { Http2Connection, type Http2ConnectionOptions } from './connection.ts';
import { Exchange } from './exchange.ts';
import { FRAME_BYTES_MAX } from './frames/protocol.ts';
import { headerBytesMax } from './hpack/header-encoder.ts';
import { pseudoBytesMax, pseudoFieldsOf } from './pseudo-fields.ts';
import type { Http2Request, Http2Result, UnprocessedWhy } from './request.ts';
import { WaitingRequests } from './waiting-requests.ts';

export interface Http2ClientOptions {
  /** `https://host:port`, or `http://host:port` for a peer that is known to speak HTTP/2 without TLS. */
  readonly origin: string;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  readonly connectionsMax: number;
  readonly streamsPerConnectionMax: number;
  /** Requests that may wait for a connection. */
  readonly waitingMax: number;
  /** From `send` to the answer, waiting and connecting included. Enforced to a quarter of a second. */
  readonly requestTimeoutMs: number;
  /** A connection without requests for this long is closed. */
  readonly idleCloseMs?: number;
  /** A connection silent for this long while an answer is due is pinged; further requests then go over another one. */
  readonly overduePingMs?: number;
  /** Called for each connection. If it refuses the host, none is opened. */
  readonly findAddresses: FindAddresses;
  readonly openWire?: OpenWire;
  readonly timers?: Timers | undefined;
  /** Reports what an operator may want to know. */
  readonly onEvent?: ((event: Http2Event) => void) | undefined;
}

export type Http2Event =
  /** Reported once until it is reached again. */
  | { readonly event: 'unreachable'; readonly why: string }
  | { readonly event: 'reached' }
  | { readonly event: 'connection-leaving'; readonly why: string }
  | { readonly event: 'connection-ended'; readonly why: string };

/** How much of an answer's body is kept. */
export const ANSWER_BYTES_MAX = 4096;

/** For opening a connection, up to the peer's first frame. */
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_CLOSE_MS = 10 * 60_000;
const OVERDUE_PING_MS = 5_000;

/** How often deadlines are checked while there are requests, and connections while there are none. */
const TICK_MS = 250;
const IDLE_TICK_MS = 5_000;

/** How often a request may be refused before it fails. */
const REFUSALS_MAX = 5;

/** Failed attempts to connect after which waiting requests fail. A single one may be chance. */
const FAILURES_MAX = 2;
const MAY_BE_CHANCE: ReadonlySet<UnprocessedWhy> = new Set([
  'unreachable',
  'proxy-unreachable',
  'proxy-refused',
]);

/** A connection of the pool. */
interface Pooled {
  readonly startedAtMs: number;
  /** `undefined` while it is being opened. */
  connection: Http2Connection | undefined;
  /** Whether it has answered a request. */
  isUseful: boolean;
}

/**
 * Sends requests to one origin over a small pool of HTTP/2 connections. It respects the limits of each peer, repeats
 * requests that were certainly not processed, and replaces closed connections.
 *
 * `send` settles with a value in every case, at the latest soon after the request's timeout.
 */
export class Http2Client implements AsyncDisposable {
  private readonly options: Http2ClientOptions;
  private readonly timers: Timers;
  private readonly connector: Http2Connector;
  private readonly connectionOptions: Http2ConnectionOptions;
  private readonly pseudoBytesMax: number;
  /** Connections that accept requests, or will. */
  private pool: Pooled[] = [];
  /** Connections that only finish their requests in flight. */
  private readonly leaving = new Set<Http2Connection>();
  private readonly waiting = new WaitingRequests();
  private readonly pause = new ReconnectPause();
  private stopTick: (() => void) | undefined;
  private isTickSlow = false;
  private isSendingPlanned = false;
  private isReached = true;
  private isClosed = false;

  constructor(options: Http2ClientOptions) {
    this.options = options;
    const origin = new URL(options.origin);
    const { timers = monotonicTimers } = options;
    this.timers = timers;
    this.connector = new Http2Connector({
      origin,
      ca: options.ca,
      timeoutMs: CONNECT_TIMEOUT_MS,
      findAddresses: options.findAddresses,
      openWire: options.openWire ?? createOpenWire(timers),
      now: () => timers.now(),
    });
    const pseudoFields = pseudoFieldsOf(origin);
    this.pseudoBytesMax = pseudoBytesMax(pseudoFields);
    this.connectionOptions = {
      pseudoFields,
      streamsMax: options.streamsPerConnectionMax,
      bodyBytesMax: ANSWER_BYTES_MAX,
      overduePingMs: options.overduePingMs ?? OVERDUE_PING_MS,
      timers,
    };
  }

  /** For metrics and tests. */
  get state(): {
    readonly connections: number;
    readonly inFlight: number;
    readonly waiting: number;
  } {
    const connections = this.connections();
    return {
      connections: connections.length,
      inFlight: connections.reduce((sum, { inFlight }) => sum + inFlight, 0),
      waiting: this.waiting.size,
    };
  }

  send(request: Http2Request): Promise<Http2Result> {
    return new Promise((resolve) => {
      const deadlineMs = this.timers.now() + this.options.requestTimeoutMs;
      this.accept(new Exchange(request, deadlineMs, resolve));
    });
  }

  /** Sends further requests over new connections only. Those in flight continue. */
  replaceConnections(why: string): void {
    for (const { connection } of [...this.pool]) connection?.leave(why);
  }

  /** Closes every connection. All requests settle at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    this.stopTick?.();
    this.stopTick = undefined;
    for (const connection of this.connections()) connection.close();
    this.failWaiting({ why: 'closed', detail: 'closed' });
  }

  private accept(exchange: Exchange): void {
    const refused = this.refuse(exchange.request);
    if (refused !== undefined) {
      return exchange.settle({ result: 'unprocessed', why: refused, detail: undefined });
    }
    const { isTrusted } = exchange;
    const isFirst = isTrusted ? !this.waiting.hasTrusted : this.waiting.size === 0;
    const connection = isFirst ? this.roomiest(isTrusted) : undefined;
    if (connection === undefined) {
      this.waiting.add(exchange);
      this.connectIfNeeded();
    } else {
      connection.send(exchange);
    }
    if (this.stopTick === undefined || this.isTickSlow) this.planTick(false);
  }

  private refuse({ fields, path }: Http2Request): UnprocessedWhy | undefined {
    if (this.isClosed) return 'closed';
    if (this.waiting.size >= this.options.waitingMax) return 'too-many-waiting';
    return this.pseudoBytesMax + headerBytesMax(fields, path) > FRAME_BYTES_MAX
      ? 'too-large'
      : undefined;
  }

  /** The connection with the most room for trusted or untrusted requests. */
  private roomiest(isTrusted: boolean): Http2Connection | undefined {
    const { hasTrusted } = this.waiting;
    let found: Http2Connection | undefined;
    let foundRoom = 0;
    for (const { connection } of this.pool) {
      if (connection === undefined) continue;
      const room = isTrusted ? connection.room : connection.roomForUntrusted(hasTrusted);
      if (room > foundRoom) {
        foundRoom = room;
        found = connection;
      }
    }
    return found;
  }

  private sendWaiting(): void {
    while (this.waiting.size > 0) {
      const connection = this.roomiest(true);
      if (connection === undefined) return this.connectIfNeeded();
      const forUntrusted = this.roomiest(false);
      const exchange = this.waiting.take(forUntrusted !== undefined);
      // Only untrusted requests wait, and they have their whole share of these connections.
      if (exchange === undefined) return this.connectIfNeeded();
      const chosen = exchange.isTrusted ? connection : forUntrusted;
      (chosen ?? connection).send(exchange);
    }
  }

  private onRefused(exchange: Exchange): void {
    exchange.refusals++;
    if (this.isClosed || exchange.refusals >= REFUSALS_MAX) {
      const why = this.isClosed ? 'closed' : 'turned-away';
      return exchange.settle({ result: 'unprocessed', why, detail: undefined });
    }
    this.waiting.addRefused(exchange);
    this.planSending();
  }

  /** Sends queued frames at the end of the current turn of the loop. */
  private planSending(): void {
    if (this.isSendingPlanned) return;
    this.isSendingPlanned = true;
    queueMicrotask(() => {
      this.isSendingPlanned = false;
      this.sendWaiting();
    });
  }

  /**
   * Opens another connection if requests wait and no connection accepts them. Connections are opened one after the
   * other: each must have answered before the next, since many peers accept a single request until they have
   * authenticated it. Only a connection whose first request hangs is not waited for.
   */
  private connectIfNeeded(): void {
    if (this.isClosed || this.waiting.size === 0) return;
    if (this.pool.length >= this.options.connectionsMax) return;
    if (this.pool.some(isUnproven)) return;
    const nowMs = this.timers.now();
    if (!this.pause.isOver(nowMs)) return;
    const pooled: Pooled = { startedAtMs: nowMs, connection: undefined, isUseful: false };
    this.pool.push(pooled);
    void this.open(pooled);
  }

  private async open(pooled: Pooled): Promise<void> {
    let failure: ConnectFailure | undefined = { why: 'unreachable', detail: 'internal error' };
    try {
      failure = await this.connector.connect(
        (wire) => this.attach(pooled, wire),
        () => !this.isClosed,
      );
    } finally {
      // Also after an exception: otherwise the pool would wait for this connection forever.
      if (failure !== undefined && this.remove(pooled)) this.onConnectFailure(failure);
    }
  }

  private attach(pooled: Pooled, wire: Wire): Http2Connection | undefined {
    if (this.isClosed) return undefined;
    const connection = new Http2Connection(
      wire,
      {
        onRoom: () => this.onRoom(pooled),
        onRefused: (exchange) => this.onRefused(exchange),
        onLeaving: (why) => this.onLeaving(pooled, why),
        onEnded: (why) => this.onEnded(pooled, why),
      },
      this.connectionOptions,
    );
    pooled.connection = connection;
    connection.start();
    return connection;
  }

  private onRoom(pooled: Pooled): void {
    if (!pooled.isUseful && (pooled.connection?.answers ?? 0) > 0) {
      pooled.isUseful = true;
      this.pause.onUseful();
      this.report({ event: 'reached' });
    }
    if (this.waiting.size > 0) this.sendWaiting();
  }

  private onLeaving(pooled: Pooled, why: string): void {
    if (!this.remove(pooled)) return;
    if (pooled.connection !== undefined) this.leaving.add(pooled.connection);
    this.options.onEvent?.({ event: 'connection-leaving', why });
    this.replace(pooled, why);
  }

  private onEnded(pooled: Pooled, why: string): void {
    if (pooled.connection !== undefined) this.leaving.delete(pooled.connection);
    this.options.onEvent?.({ event: 'connection-ended', why });
    if (this.remove(pooled)) this.replace(pooled, why);
  }

  private replace(pooled: Pooled, why: string): void {
    // A useful connection may be replaced at once. One that ended without an answer counts as a failure: otherwise we
    // would reconnect in a loop to a peer that accepts connections only to end them.
    if (pooled.isUseful) this.pause.end();
    else this.onConnectFailure({ why: 'unreachable', detail: why });
    // Later: the connection has not given its requests back yet.
    this.planSending();
  }

  private onConnectFailure(failure: ConnectFailure): void {
    this.pause.onFailure(this.timers.now());
    // Other connections are open, so requests do go out.
    if (this.pool.length > 0) return;
    if (this.pause.failures < FAILURES_MAX && MAY_BE_CHANCE.has(failure.why)) return;
    this.report({ event: 'unreachable', why: failure.detail });
    this.failWaiting(failure);
  }

  /** Reports only a change. */
  private report(event: Extract<Http2Event, { readonly event: 'reached' | 'unreachable' }>): void {
    const isReached = event.event === 'reached';
    if (isReached === this.isReached) return;
    this.isReached = isReached;
    this.options.onEvent?.(event);
  }

  private failWaiting({ why, detail }: ConnectFailure): void {
    for (let next = this.waiting.take(); next !== undefined; next = this.waiting.take()) {
      next.settle({ result: 'unprocessed', why, detail });
    }
  }

  /** Returns whether it was in the pool. */
  private remove(pooled: Pooled): boolean {
    const before = this.pool.length;
    this.pool = this.pool.filter((other) => other !== pooled);
    return this.pool.length < before;
  }

  private connections(): readonly Http2Connection[] {
    return [...this.pool.flatMap(({ connection }) => connection ?? []), ...this.leaving];
  }

  private tick(): void {
    this.stopTick = undefined;
    if (this.isClosed) return;
    const nowMs = this.timers.now();
    for (const exchange of this.waiting.takeOverdue(nowMs)) {
      exchange.settle({ result: 'unprocessed', why: 'not-in-time', detail: undefined });
    }
    for (const connection of this.connections()) connection.tick();
    for (const pooled of [...this.pool]) this.closeIfUnused(pooled, nowMs);
    this.sendWaiting();
    const { inFlight, waiting } = this.state;
    const isBusy = inFlight > 0 || waiting > 0;
    if (isBusy || this.pool.length > 0) this.planTick(!isBusy);
  }

  private planTick(isSlow: boolean): void {
    this.stopTick?.();
    this.isTickSlow = isSlow;
    this.stopTick = this.timers.after(isSlow ? IDLE_TICK_MS : TICK_MS, () => this.tick());
  }

  private closeIfUnused({ connection, startedAtMs }: Pooled, nowMs: number): void {
    if (connection === undefined) return;
    if (!connection.isOpen) {
      if (nowMs - startedAtMs >= CONNECT_TIMEOUT_MS) connection.close();
      return;
    }
    const idleSinceMs = connection.idleSinceMs ?? nowMs;
    if (nowMs - idleSinceMs >= (this.options.idleCloseMs ?? IDLE_CLOSE_MS)) {
      connection.leave('idle');
    }
  }
}

/** Whether a connection has yet to show that it answers. */
function isUnproven({ connection }: Pooled): boolean {
  return connection === undefined || (connection.answers === 0 && !connection.isSlow);
}
