import type { Timers } from '../../runtime/ports.ts';
import { type Sender, SenderQueue } from '../../runtime/sender-queue.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { FindAddresses } from './addresses.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { Exchange } from './exchange.ts';
import { FRAME_BYTES_MAX } from './frames.ts';
import { headerBytesMax } from './header-encoder.ts';
import { type HeaderField, keptField } from './header-field.ts';
import { createOpenWire, type OpenWire } from './open-wire.ts';
import type { Http2Request, Http2Result, UnprocessedWhy } from './request.ts';
import type { Wire } from './wire.ts';

export interface Http2ClientOptions {
  /** `https://host:port`, or `http://host:port`, which is spoken to as one that is known to speak HTTP/2. */
  readonly origin: string;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  readonly connectionsMax: number;
  readonly streamsPerConnectionMax: number;
  /** Requests that wait for a connection. */
  readonly waitingMax: number;
  /** From `send` to the answer, waiting and connecting included. Kept to a quarter of a second. */
  readonly requestTimeoutMs: number;
  /** For everything that opens a connection, to the peer's first word. */
  readonly connectTimeoutMs?: number;
  /** A connection that had no request for so long is closed. */
  readonly idleCloseMs?: number;
  /** A connection that was silent for so long is asked whether it is there. Gateways want no less than a minute. */
  readonly idlePingMs?: number;
  /** The same where an answer is owed; further requests then go over another connection. */
  readonly overduePingMs?: number;
  readonly pingTimeoutMs?: number;
  /** Asked for each connection. It may refuse addresses, and then nothing connects to any. */
  readonly findAddresses: FindAddresses;
  readonly openWire?: OpenWire;
  readonly timers?: Timers;
  /** Hears what an operator may want to know of. */
  readonly tell?: (news: Http2Event) => void;
}

export type Http2Event =
  /** The first time after it was reached. */
  | { readonly news: 'unreachable'; readonly why: string }
  /** It is reached again. */
  | { readonly news: 'reached' }
  | { readonly news: 'connection-leaving'; readonly why: string }
  | { readonly news: 'connection-ended'; readonly why: string };

/** What is kept of the body of an answer. */
export const ANSWER_BYTES_MAX = 4096;

const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_CLOSE_MS = 10 * 60_000;
const IDLE_PING_MS = 60_000;
const OVERDUE_PING_MS = 5_000;
const PING_TIMEOUT_MS = 5_000;

/** How often deadlines are looked at while there are requests, and connections while there are none. */
const TICK_MS = 250;
const IDLE_TICK_MS = 5_000;

/** Addresses that one attempt tries. */
const ADDRESSES_MAX = 4;

/** How often one request may be turned away. */
const TURNED_AWAY_MAX = 5;

/** Attempts in a row after which those that wait are told. A single one may be chance. */
const FAILURES_MAX = 2;

/** Pause between attempts; it doubles with each that fails. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 10_000;

interface Failure {
  readonly why: UnprocessedWhy;
  readonly detail: string;
}

/** One connection, and what the origin knows of it. */
interface Line {
  readonly startedAtMs: number;
  /** `undefined` while it is being opened. */
  connection: Connection | undefined;
  /** It has answered a request. */
  isUseful: boolean;
}

/**
 * Sends requests to one origin, over as few connections as it takes and at most so many. It obeys what each peer
 * says it takes, sends again what was certainly not processed, and replaces connections that end.
 *
 * `send` settles with a value in every case, soon after the request's time is over at the latest.
 */
export class Http2Client implements AsyncDisposable {
  private readonly options: Http2ClientOptions;
  private readonly url: URL;
  private readonly timers: Timers;
  private readonly openWire: OpenWire;
  private readonly findAddresses: FindAddresses;
  private readonly connectionOptions: ConnectionOptions;
  private readonly pseudoBytesMax: number;
  /** Those that may take requests now or soon. */
  private lines: Line[] = [];
  /** Those that finish what they have. */
  private readonly leaving = new Set<Connection>();
  /** Turned away and waiting again, before all others. */
  private readonly returned: Exchange[] = [];
  private readonly waiting = new SenderQueue<Exchange>();
  /** Sender of requests that name none. */
  private readonly ownSender: Sender = { of: this, isNewcomer: false };
  private stopTick: (() => void) | undefined;
  private isTickSlow = false;
  private attempts = 0;
  private failures = 0;
  private pausedUntilMs = 0;
  private isSendingPlanned = false;
  private isReached = true;
  private isClosed = false;

  constructor(options: Http2ClientOptions) {
    this.options = options;
    this.url = new URL(options.origin);
    this.timers = options.timers ?? monotonicTimers;
    this.openWire = options.openWire ?? createOpenWire(this.timers);
    this.findAddresses = options.findAddresses;
    const pseudoFields = pseudoFieldsOf(this.url);
    this.pseudoBytesMax = headerBytesMax(pseudoFields, '');
    this.connectionOptions = {
      pseudoFields,
      streamsMax: options.streamsPerConnectionMax,
      bodyBytesMax: ANSWER_BYTES_MAX,
      overduePingMs: options.overduePingMs ?? OVERDUE_PING_MS,
      idlePingMs: options.idlePingMs ?? IDLE_PING_MS,
      pingTimeoutMs: options.pingTimeoutMs ?? PING_TIMEOUT_MS,
    };
  }

  /** What is going on, for metrics. */
  get state(): {
    readonly connections: number;
    readonly inFlight: number;
    readonly waiting: number;
  } {
    const connections = this.connections();
    return {
      connections: connections.length,
      inFlight: connections.reduce((sum, { inFlight }) => sum + inFlight, 0),
      waiting: this.waitingCount,
    };
  }

  send(request: Http2Request): Promise<Http2Result> {
    return new Promise((resolve) => {
      const deadlineMs = this.timers.now() + this.options.requestTimeoutMs;
      this.accept(new Exchange(request, deadlineMs, resolve));
    });
  }

  /** Sends further requests over new connections only; those under way go on. */
  replaceConnections(why: string): void {
    for (const { connection } of [...this.lines]) connection?.leave(why);
  }

  /** Closes every connection. What is under way or waits settles at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    this.stopTick?.();
    this.stopTick = undefined;
    for (const connection of this.connections()) connection.close();
    this.settleWaiting({ why: 'closed', detail: 'closed' });
  }

  private accept(exchange: Exchange): void {
    const refused = this.refuse(exchange.request);
    if (refused !== undefined) {
      return exchange.settle({ result: 'unprocessed', why: refused, detail: undefined });
    }
    const { isNewcomer } = exchange;
    const isFirst = isNewcomer ? this.waitingCount === 0 : !this.doKnownWait;
    const connection = isFirst ? this.roomiest(isNewcomer) : undefined;
    if (connection === undefined) {
      this.waiting.add(exchange, exchange.request.sender ?? this.ownSender);
      this.connectIfNeeded();
    } else {
      connection.send(exchange);
    }
    if (this.stopTick === undefined || this.isTickSlow) this.planTick(false);
  }

  private refuse({ fields, path }: Http2Request): UnprocessedWhy | undefined {
    if (this.isClosed) return 'closed';
    if (this.waitingCount >= this.options.waitingMax) return 'too-many-waiting';
    return this.pseudoBytesMax + headerBytesMax(fields, path) > FRAME_BYTES_MAX
      ? 'too-large'
      : undefined;
  }

  /** The connection with the most room: for newcomers, or for other devices. */
  private roomiest(forNewcomers: boolean): Connection | undefined {
    const { doKnownWait } = this;
    let found: Connection | undefined;
    let most = 0;
    for (const { connection } of this.lines) {
      if (connection === undefined) continue;
      const room = forNewcomers ? connection.roomForNewcomers(doKnownWait) : connection.room;
      if (room > most) {
        most = room;
        found = connection;
      }
    }
    return found;
  }

  private get waitingCount(): number {
    return this.returned.length + this.waiting.size;
  }

  /** Whether requests wait that are not for newcomers. */
  private get doKnownWait(): boolean {
    return this.returned.length > 0 || this.waiting.doKnownWait;
  }

  private takeWaiting(mayBeNewcomer = true): Exchange | undefined {
    return this.returned.shift() ?? this.waiting.take(mayBeNewcomer);
  }

  private sendWaiting(): void {
    while (this.waitingCount > 0) {
      const connection = this.roomiest(false);
      if (connection === undefined) return this.connectIfNeeded();
      const forNewcomers = this.roomiest(true);
      const exchange = this.takeWaiting(forNewcomers !== undefined);
      // Only newcomers wait, and they have their whole share of these connections.
      if (exchange === undefined) return this.connectIfNeeded();
      const chosen = exchange.isNewcomer ? forNewcomers : connection;
      (chosen ?? connection).send(exchange);
    }
  }

  private takeBack(exchange: Exchange): void {
    exchange.turnedAway++;
    if (this.isClosed || exchange.turnedAway >= TURNED_AWAY_MAX) {
      const why = this.isClosed ? 'closed' : 'turned-away';
      return exchange.settle({ result: 'unprocessed', why, detail: undefined });
    }
    this.returned.push(exchange);
    this.planSending();
  }

  /** Sends what waits as soon as whoever is at work now is done. */
  private planSending(): void {
    if (this.isSendingPlanned) return;
    this.isSendingPlanned = true;
    queueMicrotask(() => {
      this.isSendingPlanned = false;
      this.sendWaiting();
    });
  }

  /**
   * Opens one more connection where requests wait and none takes them. One after the other: each must have answered
   * before the next is opened, since many peers take a single request until they know who is asking. One whose
   * first request hangs is not waited for: the others would hang with it until their time is over.
   */
  private connectIfNeeded(): void {
    if (this.isClosed || this.waitingCount === 0) return;
    if (this.lines.length >= this.options.connectionsMax) return;
    if (this.lines.some(isUnproven)) return;
    if (this.timers.now() < this.pausedUntilMs) return;
    const line: Line = {
      startedAtMs: this.timers.now(),
      connection: undefined,
      isUseful: false,
    };
    this.lines.push(line);
    void this.open(line);
  }

  private async open(line: Line): Promise<void> {
    let failure: Failure | undefined = { why: 'unreachable', detail: 'a fault of this server' };
    try {
      failure = await this.openAny(line);
    } finally {
      // Also where something was thrown: the origin must not wait for this one for ever.
      if (failure !== undefined && this.forget(line)) this.countFailure(failure);
    }
  }

  /** Tries the addresses in turn; each attempt begins with another one, so that connections are spread. */
  private async openAny(line: Line): Promise<Failure | undefined> {
    const { hostname, port, protocol } = this.url;
    const host = hostname.replace(/^\[|\]$/g, '');
    const found = await this.findAddresses(host);
    if (!found.ok) {
      return { why: found.allowed ? 'unreachable' : 'not-allowed', detail: found.why };
    }
    const secure = protocol === 'https:';
    let failure: Failure = { why: 'unreachable', detail: 'the name has no address' };
    for (const address of rotated(found.addresses, this.attempts++).slice(0, ADDRESSES_MAX)) {
      const leftMs = this.connectTimeoutMs - (this.timers.now() - line.startedAtMs);
      if (leftMs <= 0 || this.isClosed) break;
      const opening = await this.openWire(
        {
          address,
          port: Number(port) || (secure ? 443 : 80),
          serverName: secure ? host : undefined,
          ca: this.options.ca,
          // One address that does not answer leaves time for another.
          timeoutMs: Math.min(leftMs, this.connectTimeoutMs / 2),
        },
        (wire) => this.attach(line, wire),
      );
      if (opening.ok) return undefined;
      // That it was reached and speaks no HTTP/2 says more than that another address is not reached.
      if (failure.why === 'no-http2') continue;
      failure = { why: opening.noHttp2 ? 'no-http2' : 'unreachable', detail: opening.why };
    }
    return failure;
  }

  private attach(line: Line, wire: Wire): Connection | undefined {
    if (this.isClosed) return undefined;
    const connection = new Connection(
      wire,
      {
        onRoom: () => this.onRoom(line),
        onTurnedAway: (exchange) => this.takeBack(exchange),
        onLeaving: (why) => this.onLeaving(line, why),
        onEnded: (why) => this.onEnded(line, why),
      },
      this.connectionOptions,
      this.timers,
    );
    line.connection = connection;
    connection.start();
    return connection;
  }

  private get connectTimeoutMs(): number {
    return this.options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  }

  private onRoom(line: Line): void {
    if (!line.isUseful && (line.connection?.answers ?? 0) > 0) {
      line.isUseful = true;
      this.failures = 0;
      this.tellReach({ news: 'reached' });
    }
    if (this.waitingCount > 0) this.sendWaiting();
  }

  private onLeaving(line: Line, why: string): void {
    if (!this.forget(line)) return;
    if (line.connection !== undefined) this.leaving.add(line.connection);
    this.options.tell?.({ news: 'connection-leaving', why });
    this.replace(line, why);
  }

  private onEnded(line: Line, why: string): void {
    if (line.connection !== undefined) this.leaving.delete(line.connection);
    this.options.tell?.({ news: 'connection-ended', why });
    if (this.forget(line)) this.replace(line, why);
  }

  private replace(line: Line, why: string): void {
    if (line.isUseful) {
      // What kept further connections from opening says nothing of the one that is needed now.
      this.failures = 0;
      this.pausedUntilMs = 0;
    } else {
      // Otherwise one that takes connections and ends each of them would be asked for ever.
      this.countFailure({ why: 'unreachable', detail: why });
    }
    // What the connection gives back is not here yet.
    this.planSending();
  }

  private countFailure(failure: Failure): void {
    this.failures++;
    const pauseMs = Math.min(PAUSE_MS * 2 ** (this.failures - 1), PAUSE_MS_MAX);
    // Between half of it and all: other nodes wait as well.
    this.pausedUntilMs = this.timers.now() + pauseMs * (0.5 + Math.random() / 2);
    // Others are open, so requests do go out.
    if (this.lines.length > 0) return;
    if (this.failures < FAILURES_MAX && failure.why === 'unreachable') return;
    this.tellReach({ news: 'unreachable', why: failure.detail });
    this.settleWaiting(failure);
  }

  /** Tells only what is new. */
  private tellReach(news: Http2Event): void {
    const reached = news.news === 'reached';
    if (reached === this.isReached) return;
    this.isReached = reached;
    this.options.tell?.(news);
  }

  private settleWaiting({ why, detail }: Failure): void {
    for (let exchange = this.takeWaiting(); exchange !== undefined; exchange = this.takeWaiting()) {
      exchange.settle({ result: 'unprocessed', why, detail });
    }
  }

  private forget(line: Line): boolean {
    const before = this.lines.length;
    this.lines = this.lines.filter((other) => other !== line);
    return this.lines.length < before;
  }

  private connections(): readonly Connection[] {
    const open = this.lines.flatMap(({ connection }) =>
      connection === undefined ? [] : connection,
    );
    return [...open, ...this.leaving];
  }

  private tick(): void {
    this.stopTick = undefined;
    if (this.isClosed) return;
    const nowMs = this.timers.now();
    this.dropOverdue(nowMs);
    for (const connection of this.connections()) connection.tick();
    for (const line of [...this.lines]) this.closeIfUnused(line, nowMs);
    this.sendWaiting();
    const { inFlight, waiting } = this.state;
    const isBusy = inFlight > 0 || waiting > 0;
    if (isBusy || this.lines.length > 0) this.planTick(!isBusy);
  }

  private planTick(slow: boolean): void {
    this.stopTick?.();
    this.isTickSlow = slow;
    this.stopTick = this.timers.after(slow ? IDLE_TICK_MS : TICK_MS, () => this.tick());
  }

  private closeIfUnused({ connection, startedAtMs }: Line, nowMs: number): void {
    if (connection === undefined) return;
    if (!connection.isOpen) {
      if (nowMs - startedAtMs >= this.connectTimeoutMs) connection.close();
      return;
    }
    const idleSinceMs = connection.idleSinceMs ?? nowMs;
    if (nowMs - idleSinceMs >= (this.options.idleCloseMs ?? IDLE_CLOSE_MS)) {
      connection.leave('it was not used');
    }
  }

  private dropOverdue(nowMs: number): void {
    if (this.waitingCount === 0) return;
    const isOverdue = (exchange: Exchange) => exchange.deadlineMs <= nowMs;
    const returned = this.returned.splice(0);
    this.returned.push(...returned.filter((exchange) => !isOverdue(exchange)));
    for (const exchange of [...returned.filter(isOverdue), ...this.waiting.takeAll(isOverdue)]) {
      exchange.settle({ result: 'unprocessed', why: 'not-in-time', detail: undefined });
    }
  }
}

/** Whether it is still to be seen what a connection is good for. */
function isUnproven({ connection }: Line): boolean {
  return connection === undefined || (connection.answers === 0 && !connection.isSlow);
}

function pseudoFieldsOf({ protocol, host }: URL): readonly HeaderField[] {
  return [
    keptField(':method', 'POST'),
    keptField(':scheme', protocol.slice(0, -1)),
    keptField(':authority', host),
  ];
}

/** Begins with another one each time, but with all IPv4 addresses before those of IPv6. */
function rotated(addresses: readonly string[], by: number): readonly string[] {
  const turn = (list: readonly string[]) => {
    const at = list.length === 0 ? 0 : by % list.length;
    return [...list.slice(at), ...list.slice(0, at)];
  };
  return [
    ...turn(addresses.filter((address) => !address.includes(':'))),
    ...turn(addresses.filter((address) => address.includes(':'))),
  ];
}
