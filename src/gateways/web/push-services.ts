import type { FindAddresses } from '../../outgoing/http2/addresses.ts';
import { ANSWER_BYTES_MAX, Http2Client, type Http2Event } from '../../outgoing/http2/client.ts';
import { fieldOf, type Http2Result } from '../../outgoing/http2/request.ts';
import type { Timers } from '../../runtime/ports.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { Http1Pool, type SendOverHttp1 } from './http1-pool.ts';
import { Http1Slots } from './http1-slots.ts';
import type { WebPushResult } from './web-push-answer.ts';
import type { WebPushRequest } from './web-push-request.ts';

export interface PushServicesOptions {
  /** Asked for each connection, which then goes to what it gives. It refuses addresses that may not be used. */
  readonly findAddresses: FindAddresses;
  /** For push services that speak no HTTP/2. It must keep to the same addresses. */
  readonly sendOverHttp1: SendOverHttp1;
  /** The places for HTTP/1.1, which may be shared with other `PushServices`. */
  readonly http1Places?: Http1Slots;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  readonly timers?: Timers;
  /** From `send` to the answer. */
  readonly timeoutMs?: number;
  /** Push services that connections are kept to. */
  readonly originsMax?: number;
  /** Hears what an operator may want to know of. */
  readonly tell?: (origin: string, news: Http2Event) => void;
}

/** All browsers together use about five push services, those of Windows have a few dozen names. */
const ORIGINS_MAX = 100;

/** Share of them that may have taken no message yet. Devices registered at many made-up services leave room for others. */
const UNPROVEN_SHARE = 0.5;

/** Google, which is slower than others, takes up to five seconds. */
const TIMEOUT_MS = 15_000;

/** Google allows 100 requests at the same time on one connection; others say what they allow. */
const STREAMS_MAX = 100;
const CONNECTIONS_MAX = 10;
const WAITING_MAX = 5_000;

/** Google gives up a connection after four minutes. */
const IDLE_CLOSE_MS = 60_000;

/** One push service. */
interface Place {
  readonly http2: Http2Client;
  readonly http1: Http1Pool;
  speaksHttp2: boolean;
  underWay: number;
  usedAtMs: number;
  /** Whether it has taken a message. */
  isProven: boolean;
}

/**
 * The connections to push services, shared by all instances that trust the same ones. HTTP/2 where a service speaks
 * it, HTTP/1.1 where it does not, or where it is reached without TLS.
 */
export class PushServices implements AsyncDisposable {
  private readonly options: PushServicesOptions;
  private readonly timers: Timers;
  private readonly http1Places: Http1Slots;
  private readonly places = new Map<string, Place>();
  private isClosed = false;

  constructor(options: PushServicesOptions) {
    this.options = options;
    this.timers = options.timers ?? monotonicTimers;
    this.http1Places = options.http1Places ?? new Http1Slots();
  }

  /** Sends a message to the push service at an origin. Settles in every case, and within a bounded time. */
  async send(origin: string, request: WebPushRequest): Promise<WebPushResult> {
    if (this.isClosed) return { result: 'not-answered', reason: 'closed' };
    const place = this.places.get(origin) ?? this.open(origin, request.sender.isNewcomer);
    if (place === undefined) return { result: 'not-answered', reason: 'too-many-origins' };
    place.underWay++;
    place.usedAtMs = this.timers.now();
    try {
      const result = await sendTo(place, request);
      place.isProven ||= hasTaken(result);
      return result;
    } finally {
      place.underWay--;
    }
  }

  /** Closes every connection. What is under way settles at once. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    await Promise.all([...this.places.values()].map(close));
    this.places.clear();
  }

  private open(origin: string, isForNewcomer: boolean): Place | undefined {
    if (!this.makeRoom(isForNewcomer)) return undefined;
    const { findAddresses, sendOverHttp1, ca, tell } = this.options;
    const timeoutMs = this.options.timeoutMs ?? TIMEOUT_MS;
    const { timers } = this;
    const place: Place = {
      http2: new Http2Client({
        origin,
        ca,
        connectionsMax: CONNECTIONS_MAX,
        streamsPerConnectionMax: STREAMS_MAX,
        waitingMax: WAITING_MAX,
        requestTimeoutMs: timeoutMs,
        idleCloseMs: IDLE_CLOSE_MS,
        findAddresses,
        timers,
        tell: (news) => tell?.(origin, news),
      }),
      http1: new Http1Pool(origin, {
        send: sendOverHttp1,
        timers,
        timeoutMs,
        answerBytesMax: ANSWER_BYTES_MAX,
        places: this.http1Places,
      }),
      // Without TLS nothing is said of what the other side speaks, and all speak HTTP/1.1.
      speaksHttp2: origin.startsWith('https:'),
      underWay: 0,
      usedAtMs: 0,
      isProven: false,
    };
    this.places.set(origin, place);
    return place;
  }

  /**
   * Makes room for one more origin, by closing the one that was unused for the longest time if there are too many. A
   * newcomer may only displace origins that have taken no message, once those have their share.
   */
  private makeRoom(isForNewcomer: boolean): boolean {
    const most = this.options.originsMax ?? ORIGINS_MAX;
    const unproven = [...this.places].filter(([, { isProven }]) => !isProven);
    const isCrowded = isForNewcomer && unproven.length >= Math.ceil(most * UNPROVEN_SHARE);
    if (this.places.size < most && !isCrowded) return true;
    const oldest =
      oldestUnused(unproven) ?? (isCrowded ? undefined : oldestUnused([...this.places]));
    if (oldest === undefined) return false;
    const [origin, place] = oldest;
    this.places.delete(origin);
    void close(place);
    return true;
  }
}

type Named = readonly [origin: string, place: Place];

function oldestUnused(places: readonly Named[]): Named | undefined {
  const [first, ...others] = places.filter(([, { underWay }]) => underWay === 0);
  return others.reduce(
    (a, b) => (a !== undefined && a[1].usedAtMs <= b[1].usedAtMs ? a : b),
    first,
  );
}

/** Whether a push service has taken a message. */
function hasTaken(result: WebPushResult): boolean {
  return result.result === 'answered' && result.answer.status >= 200 && result.answer.status < 300;
}

async function close({ http1, http2 }: Place): Promise<void> {
  http1.close();
  await http2[Symbol.asyncDispose]();
}

async function sendTo(place: Place, request: WebPushRequest): Promise<WebPushResult> {
  if (place.speaksHttp2) {
    const sent = await place.http2.send(request);
    if (sent.result !== 'unprocessed' || sent.why !== 'no-http2') return readResult(sent);
    place.speaksHttp2 = false;
  }
  return place.http1.send(request);
}

function readResult(sent: Http2Result): WebPushResult {
  if (sent.result === 'answered') {
    const { status, fields, body } = sent;
    const retryAfter = fieldOf(fields, 'retry-after');
    return { result: 'answered', answer: { status, retryAfter, body } };
  }
  return sent.why === 'not-allowed'
    ? { result: 'not-allowed', words: sent.detail ?? '' }
    : { result: 'not-answered', reason: sent.why };
}
