import type { FindAddresses } from '../../outgoing/http2/addresses.ts';
import { Http2Client, type Http2Event } from '../../outgoing/http2/client.ts';
import type { HeaderField } from '../../outgoing/http2/header-field.ts';
import { fieldOf } from '../../outgoing/http2/request.ts';
import type { Deliver, Gateway, Notification, Outcome } from '../../push/gateway.ts';
import type { Recipient } from '../../push/model/device.ts';
import type { FcmPayload } from '../../push/payloads/fcm.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { Sender } from '../../runtime/sender-queue.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { AccessTokens, type RequestToken } from './access-token.ts';
import { type FcmVerdict, readFcmAnswer, readFcmSilence } from './fcm-answer.ts';
import { CONTENT_TYPE, FcmBodies, fcmPath } from './fcm-request.ts';
import { type ProjectRate, ProjectRates } from './project-rate.ts';
import type { ServiceAccount } from './service-account.ts';

export interface FcmGatewayOptions {
  readonly account: ServiceAccount;
  /** Asks for access tokens. It trusts the same certificates. */
  readonly requestToken: RequestToken;
  /** In place of Google's. */
  readonly origin?: string | undefined;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Shared by all gateways of a server. */
  readonly paces?: ProjectRates;
  readonly findAddresses: FindAddresses;
  readonly timers?: Timers;
  readonly connectionsMax?: number;
  readonly requestTimeoutMs?: number;
  /** Hears what an operator may want to know of. */
  readonly tell?: (news: Http2Event) => void;
}

const ORIGIN = 'https://fcm.googleapis.com';

/** FCM ends a connection that has more at a time, and wants some of them. Source: push protocol, §8.2. */
const STREAMS_MAX = 100;
const CONNECTIONS_MAX = 15;

/** As many as all connections take together. */
const AT_ONCE = STREAMS_MAX * CONNECTIONS_MAX;

/** FCM itself gives up after about five seconds; less than ten would be too little. Source: the same. */
const REQUEST_TIMEOUT_MS = 15_000;

/** FCM ends a connection after four minutes without a request, and at the third ping in a row. Source: the same. */
const IDLE_CLOSE_MS = 150_000;
const IDLE_PING_MS = 60_000;
const OVERDUE_PING_MS = 7_000;

/** What FCM says of a device that belongs to another project. Source: push protocol, §8.2. */
const OTHER_PROJECT = 'SENDER_ID_MISMATCH';

const TOO_MANY_WAIT: Outcome = {
  result: 'try-again',
  reason: 'too-many-waiting',
  afterMs: undefined,
  scope: 'gateway',
};

/** Makes the way to the devices that Firebase reaches, for one instance. Source: push protocol, §8.2. */
export function createFcmGateway(options: FcmGatewayOptions): Gateway<'fcm'> {
  return new FcmGateway(options);
}

/** A publish for one device. */
interface Message {
  readonly token: string;
  readonly bodies: FcmBodies;
  readonly sender: Sender;
}

class FcmGateway implements Gateway<'fcm'> {
  readonly platform = 'fcm';
  readonly atOnce = AT_ONCE;
  private readonly nowMs: () => number;
  private readonly path: string;
  private readonly tokens: AccessTokens;
  private readonly pace: ProjectRate;
  private readonly origin: Http2Client;
  private readonly known: Sender = { of: this, isNewcomer: false };
  private readonly newcomer: Sender = { of: this, isNewcomer: true };
  /** Whether a device of this project was reached: of one that is of another, that says something then. */
  private hasReached = false;

  constructor(options: FcmGatewayOptions) {
    const { account, requestToken, nowMs, ca, findAddresses, timers, tell } = options;
    this.nowMs = nowMs;
    this.path = fcmPath(account.projectId);
    this.tokens = new AccessTokens({ account, request: requestToken, nowMs });
    const paces = options.paces ?? new ProjectRates({ timers: timers ?? monotonicTimers });
    this.pace = paces.of(account.projectId);
    this.origin = new Http2Client({
      origin: options.origin ?? ORIGIN,
      ca,
      connectionsMax: options.connectionsMax ?? CONNECTIONS_MAX,
      streamsPerConnectionMax: STREAMS_MAX,
      // Whoever sends more than `atOnce` at a time is told so.
      waitingMax: AT_ONCE,
      requestTimeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      idleCloseMs: IDLE_CLOSE_MS,
      idlePingMs: IDLE_PING_MS,
      overduePingMs: OVERDUE_PING_MS,
      findAddresses,
      ...(timers === undefined ? {} : { timers }),
      ...(tell === undefined ? {} : { tell }),
    });
  }

  prepare(notification: Notification<FcmPayload>): Deliver {
    const bodies = new FcmBodies(notification);
    return (recipient) => this.deliver(recipient, bodies);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.tokens[Symbol.dispose]();
    await this.origin[Symbol.asyncDispose]();
  }

  private async deliver({ token, acceptedBefore }: Recipient, bodies: FcmBodies): Promise<Outcome> {
    const sender = acceptedBefore ? this.known : this.newcomer;
    // Before it takes a place among those that go out: without a token, none does.
    const access = await this.tokens.get();
    if (!access.ok) return access.fault;
    if (this.pace.isFull) return TOO_MANY_WAIT;
    const turn = this.pace.take(sender);
    if (turn !== undefined) await turn;
    const message = { token, bodies, sender };
    const verdict = await this.send(message, access.field);
    return this.learn(
      verdict.first === 'new-access-token'
        ? await this.sendAgain(message, access.field, verdict)
        : verdict,
      acceptedBefore,
    );
  }

  private async sendAgain(
    message: Message,
    refused: HeaderField,
    verdict: FcmVerdict,
  ): Promise<FcmVerdict> {
    const access = await this.tokens.replace(refused);
    if (!access.ok) return { outcome: access.fault };
    return access.field === refused ? verdict : this.send(message, access.field);
  }

  private async send(
    { token, bodies, sender }: Message,
    authorization: HeaderField,
  ): Promise<FcmVerdict> {
    const result = await this.origin.send({
      path: this.path,
      fields: [authorization, CONTENT_TYPE],
      body: bodies.of(token, this.nowMs()),
      sender,
    });
    if (result.result !== 'answered') return { outcome: readFcmSilence(result) };
    const { status, body } = result;
    const retryAfter = fieldOf(result.fields, 'retry-after');
    return readFcmAnswer({ status, body, retryAfter }, this.nowMs());
  }

  private learn({ outcome, isOverQuota }: FcmVerdict, acceptedBefore: boolean): Outcome {
    // FCM does not always say that only one device gets too much, and a newcomer must not slow down all others.
    if (isOverQuota === true && (acceptedBefore || !this.hasReached)) this.pace.slowDown();
    if (outcome.result === 'accepted') this.hasReached = true;
    // Where no device was reached, it is probably the account of another project: no device may be lost by that.
    if (outcome.result === 'token-gone' && outcome.reason === OTHER_PROJECT && !this.hasReached) {
      return { result: 'refused', reason: outcome.reason, words: '' };
    }
    return outcome;
  }
}
