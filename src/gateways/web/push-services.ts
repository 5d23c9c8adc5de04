import { ANSWER_BYTES_MAX, Http2Client, type Http2Event } from '../../outgoing/http2/client.ts';
import type { FindAddresses } from '../../outgoing/http2/connecting/addresses.ts';
import { fieldOf, type Http2Result } from '../../outgoing/http2/request.ts';
import type { SendUnowned } from '../../outgoing/request.ts';
import { parseAddress } from '../../runtime/ip-address.ts';
import type { Timers } from '../../runtime/ports.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { gatewayAnswer } from '../answer.ts';
import { Http1Pool } from './http1-pool.ts';
import { Http1Slots } from './http1-slots.ts';
import type { WebPushResult } from './web-push-answer.ts';
import type { WebPushRequest } from './web-push-request.ts';
import { windowsWords } from './windows.ts';

export interface PushServicesOptions {
  /** Called for each HTTP/2 connection. It refuses addresses that may not be used. */
  readonly findAddresses: FindAddresses;
  /** For push services that speak no HTTP/2. It must refuse the same addresses. */
  readonly sendOverHttp1: SendUnowned;
  /** May be shared with other `PushServices`. */
  readonly http1Slots?: Http1Slots;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  readonly timers?: Timers;
  /** From `send` to the answer. */
  readonly timeoutMs?: number;
  /** The limit of push services with open connections. */
  readonly servicesMax?: number;
  /** Reports what an operator may want to know. */
  readonly onEvent?: (origin: string, event: Http2Event) => void;
}

/** All browsers together use about five push services; that of Windows has a few dozen host names. */
const SERVICES_MAX = 100;

/**
 * The share of them that may have accepted no message yet. Devices registered at made-up services leave room for
 * others.
 */
const UNPROVEN_SHARE = 0.5;

const TOO_MANY: WebPushResult = { result: 'not-answered', reason: 'too-many-origins' };

/** Google, the slowest, takes up to five seconds. */
const TIMEOUT_MS = 15_000;

/** Google allows 100 concurrent requests on one connection; others announce their limit. */
const STREAMS_MAX = 100;
const CONNECTIONS_MAX = 10;
const WAITING_MAX = 5_000;

/** Google drops a connection after four minutes. */
const IDLE_CLOSE_MS = 60_000;

/** An open host could be anybody's server, which must not be flooded. The one connection of HTTP/1.1 has one request. */
const OPEN = { connectionsMax: 1, streamsMax: 2, http1Max: 1, waitingMax: 200 } as const;

interface PushService {
  /** Who opened it, and below which domain it is: see `PushServices.openerOf`. */
  readonly opener: string;
  readonly http2: Http2Client;
  readonly http1: Http1Pool;
  speaksHttp2: boolean;
  inFlight: number;
  usedAtMs: number;
  /** Whether it has answered a message, in any way. */
  hasAnswered: boolean;
  /** Whether it has accepted a message. */
  isProven: boolean;
  /** Whether it was closed for another one, with requests in flight. */
  hasYielded: boolean;
}

/**
 * Connections to push services, shared by all instances that trust the same certificates. HTTP/1.1 is used for a
 * service that speaks no HTTP/2 or is reached without TLS.
 */
export class PushServices implements AsyncDisposable {
  private readonly options: PushServicesOptions;
  private readonly timers: Timers;
  private readonly http1Slots: Http1Slots;
  /** By origin; those that are open to somebody have an entry of their own. The oldest first. */
  private readonly byName = new Map<string, PushService>();
  /** Numbers of instances, by their gateways. */
  private readonly owners = new WeakMap<object, number>();
  private ownersMade = 0;
  private isClosed = false;

  constructor(options: PushServicesOptions) {
    this.options = options;
    this.timers = options.timers ?? monotonicTimers;
    this.http1Slots = options.http1Slots ?? new Http1Slots();
  }

  /** Sends a message to the push service at an origin. Settles in every case, within a bounded time. */
  async send(origin: string, request: WebPushRequest): Promise<WebPushResult> {
    if (this.isClosed) return { result: 'not-answered', reason: 'closed' };
    const name = request.isOpen ? `open ${origin}` : origin;
    const service = this.byName.get(name) ?? this.open(name, origin, request);
    if (service === undefined) return TOO_MANY;
    service.inFlight++;
    service.usedAtMs = this.timers.now();
    try {
      const result = await sendTo(service, request);
      if (result.result === 'answered') service.hasAnswered = true;
      else if (service.hasYielded) return TOO_MANY;
      service.isProven ||= isAccepted(result);
      return result;
    } finally {
      service.inFlight--;
    }
  }

  /** Closes every connection. Requests in flight settle at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.byName.values()].map(close));
    this.byName.clear();
  }

  private open(
    name: string,
    origin: string,
    { sender: { owner, isTrusted }, isOpen }: WebPushRequest,
  ): PushService | undefined {
    const opener = this.openerOf(owner, origin);
    if (!this.makeRoom(opener, isTrusted)) return undefined;
    const { findAddresses, sendOverHttp1, ca, onEvent } = this.options;
    const timeoutMs = this.options.timeoutMs ?? TIMEOUT_MS;
    const { timers } = this;
    const service: PushService = {
      opener,
      http2: new Http2Client({
        origin,
        ca,
        connectionsMax: isOpen ? OPEN.connectionsMax : CONNECTIONS_MAX,
        streamsPerConnectionMax: isOpen ? OPEN.streamsMax : STREAMS_MAX,
        waitingMax: isOpen ? OPEN.waitingMax : WAITING_MAX,
        requestTimeoutMs: timeoutMs,
        idleCloseMs: IDLE_CLOSE_MS,
        findAddresses,
        timers,
        onEvent: (event) => onEvent?.(origin, event),
      }),
      http1: new Http1Pool(origin, {
        send: sendOverHttp1,
        timers,
        timeoutMs,
        answerBytesMax: ANSWER_BYTES_MAX,
        slots: this.http1Slots,
        ...(isOpen ? { inFlightMax: OPEN.http1Max } : {}),
      }),
      // Without TLS there is no negotiation, and every service speaks HTTP/1.1.
      speaksHttp2: origin.startsWith('https:'),
      inFlight: 0,
      usedAtMs: 0,
      hasAnswered: false,
      isProven: false,
      hasYielded: false,
    };
    this.byName.set(name, service);
    return service;
  }

  /**
   * Names who opens a service: the instance, and the last two labels of the host, because anybody may register browsers at
   * any number of hosts below a domain.
   */
  private openerOf(owner: object, origin: string): string {
    let number = this.owners.get(owner);
    if (number === undefined) {
      number = this.ownersMade++;
      this.owners.set(owner, number);
    }
    const { hostname } = new URL(origin);
    const domain =
      parseAddress(hostname) === undefined ? hostname.split('.').slice(-2) : [hostname];
    return `${number} ${domain.join('.')}`;
  }

  /**
   * Makes room for one more service by closing the one that was unused for longest. An untrusted request may only
   * displace services that have accepted no message, once those have their share. If all of these are in use, the opener
   * with the most loses its oldest that has never answered: its name servers may be silent.
   */
  private makeRoom(opener: string, isTrusted: boolean): boolean {
    const limit = this.options.servicesMax ?? SERVICES_MAX;
    const unproven = [...this.byName].filter(([, { isProven }]) => !isProven);
    const isShareUsed = !isTrusted && unproven.length >= Math.ceil(limit * UNPROVEN_SHARE);
    if (this.byName.size < limit && !isShareUsed) return true;
    const yielding =
      oldestUnused(unproven) ??
      (isShareUsed ? undefined : oldestUnused([...this.byName])) ??
      oldestOfMost(unproven, opener);
    if (yielding === undefined) return false;
    const [name, service] = yielding;
    this.byName.delete(name);
    service.hasYielded = service.inFlight > 0;
    void close(service);
    return true;
  }
}

type Entry = readonly [name: string, service: PushService];

function oldestUnused(entries: readonly Entry[]): Entry | undefined {
  const [first, ...others] = entries.filter(([, { inFlight }]) => inFlight === 0);
  return others.reduce(
    (a, b) => (a !== undefined && a[1].usedAtMs <= b[1].usedAtMs ? a : b),
    first,
  );
}

/** The oldest service that has never answered, of the opener with the most of them, if `opener` would still have fewer. */
function oldestOfMost(unproven: readonly Entry[], opener: string): Entry | undefined {
  const silent = unproven.filter(([, { hasAnswered }]) => !hasAnswered);
  const byOpener = Map.groupBy(silent, ([, service]) => service.opener);
  const most = [...byOpener.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
  const own = byOpener.get(opener)?.length ?? 0;
  return most.length > own + 1 ? most[0] : undefined;
}

function isAccepted(result: WebPushResult): boolean {
  return result.result === 'answered' && result.answer.status >= 200 && result.answer.status < 300;
}

async function close({ http1, http2 }: PushService): Promise<void> {
  http1.close();
  await http2[Symbol.asyncDispose]();
}

async function sendTo(service: PushService, request: WebPushRequest): Promise<WebPushResult> {
  if (service.speaksHttp2) {
    const sent = await service.http2.send(request);
    if (sent.result !== 'unprocessed' || sent.why !== 'no-http2') return readResult(sent);
    service.speaksHttp2 = false;
  }
  return service.http1.send(request);
}

function readResult(sent: Http2Result): WebPushResult {
  if (sent.result === 'answered') {
    const headerWords = windowsWords((name) => fieldOf(sent.fields, name));
    return { result: 'answered', answer: { ...gatewayAnswer(sent), headerWords } };
  }
  return sent.why === 'not-allowed'
    ? { result: 'not-allowed', words: sent.detail ?? '' }
    : { result: 'not-answered', reason: sent.why, words: sent.detail };
}
