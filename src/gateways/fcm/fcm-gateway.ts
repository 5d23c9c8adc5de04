import { Http2Client, type Http2Event } from '../../outgoing/http2/client.ts';
import type { FindAddresses } from '../../outgoing/http2/connecting/addresses.ts';
import type { HeaderField } from '../../outgoing/http2/hpack/header-field.ts';
import type { SendUnowned } from '../../outgoing/request.ts';
import type { Deliver, Gateway, Notification, Outcome } from '../../push/gateway.ts';
import type { Recipient } from '../../push/model/device.ts';
import type { FcmPayload } from '../../push/payloads/fcm.ts';
import type { Sender } from '../../runtime/fairness/sender-queue.ts';
import type { Timers } from '../../runtime/ports.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { gatewayAnswer } from '../answer.ts';
import { refused, tryAgain, unansweredOutcome } from '../outcomes.ts';
import { type FcmVerdict, readFcmAnswer } from './fcm-answer.ts';
import { CONTENT_TYPE, FcmBodies, fcmPath } from './fcm-request.ts';
import { type ProjectRate, ProjectRates } from './project-rate.ts';
import { AccessTokens } from './tokens/access-token.ts';
import type { FcmCredential } from './tokens/credential.ts';

export interface FcmGatewayOptions {
  readonly credential: FcmCredential;
  /** Requests access tokens. It trusts the same certificates. */
  readonly requestToken: SendUnowned;
  /** In place of Google's. */
  readonly origin?: string | undefined;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Shared by all gateways of a server. */
  readonly rates?: ProjectRates;
  readonly findAddresses: FindAddresses;
  readonly timers?: Timers;
  readonly connectionsMax?: number;
  readonly requestTimeoutMs?: number;
  /** Reports what an operator may want to know. */
  readonly onEvent?: (event: Http2Event) => void;
}

export const FCM_ORIGIN = 'https://fcm.googleapis.com';

/**
 * FCM closes a connection with more concurrent requests, and prefers several connections. Source: push protocol,
 * §8.2.
 */
const STREAMS_MAX = 100;
const CONNECTIONS_MAX = 15;

/** As many as all connections accept together. */
const AT_ONCE = STREAMS_MAX * CONNECTIONS_MAX;

/** FCM gives up after about 5 s, and asks clients to wait at least 10 s. Source: the same. */
const REQUEST_TIMEOUT_MS = 15_000;

/**
 * FCM closes a connection after four minutes without a request, and at the third consecutive ping. The client pings
 * an idle connection every minute. Source: the same.
 */
const IDLE_CLOSE_MS = 150_000;
const OVERDUE_PING_MS = 7_000;

/** FCM's error code for a device of another project. Source: push protocol, §8.2. */
const OTHER_PROJECT = 'SENDER_ID_MISMATCH';

/** A publish for one device. */
interface Message {
  readonly token: string;
  readonly bodies: FcmBodies;
  readonly sender: Sender;
}

/** The gateway to devices reached through Firebase, for one instance. Source: push protocol, §8.2. */
export class FcmGateway implements Gateway<'fcm'> {
  readonly platform = 'fcm';
  readonly atOnce = AT_ONCE;
  private readonly nowMs: () => number;
  private readonly path: string;
  private readonly tokens: AccessTokens;
  private readonly rate: ProjectRate;
  private readonly client: Http2Client;
  private readonly trusted: Sender = { owner: this, isTrusted: true };
  private readonly untrusted: Sender = { owner: this, isTrusted: false };
  /** A device of this project was reached, so the account is the right one. */
  private hasReached = false;

  constructor(options: FcmGatewayOptions) {
    const { credential, requestToken, nowMs, ca, findAddresses, timers, onEvent } = options;
    this.nowMs = nowMs;
    this.path = fcmPath(credential.projectId);
    this.tokens = new AccessTokens({ credential, send: requestToken, nowMs });
    const rates = options.rates ?? new ProjectRates({ timers: timers ?? monotonicTimers });
    this.rate = rates.of(credential.projectId);
    this.client = new Http2Client({
      origin: options.origin ?? FCM_ORIGIN,
      ca,
      connectionsMax: options.connectionsMax ?? CONNECTIONS_MAX,
      streamsPerConnectionMax: STREAMS_MAX,
      // Callers keep to `atOnce`, so this is not reached.
      waitingMax: AT_ONCE,
      requestTimeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      idleCloseMs: IDLE_CLOSE_MS,
      overduePingMs: OVERDUE_PING_MS,
      findAddresses,
      timers,
      onEvent,
    });
  }

  prepare(notification: Notification<FcmPayload>): Deliver {
    const bodies = new FcmBodies(notification);
    return (recipient) => this.deliver(recipient, bodies);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.tokens[Symbol.dispose]();
    await this.client[Symbol.asyncDispose]();
  }

  private async deliver({ token, isTrusted }: Recipient, bodies: FcmBodies): Promise<Outcome> {
    const sender = isTrusted ? this.trusted : this.untrusted;
    // Before it counts against the rate: without a token nothing is sent.
    const access = await this.tokens.get();
    if (!access.ok) return access.fault;
    if (this.rate.isFull) return tryAgain('too-many-waiting', 'gateway');
    const permitted = this.rate.take(sender);
    if (permitted !== undefined) await permitted;
    const message = { token, bodies, sender };
    const verdict = await this.send(message, access.field);
    return this.learn(
      verdict.first === 'new-access-token'
        ? await this.sendAgain(message, access.field, verdict)
        : verdict,
      isTrusted,
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
    const result = await this.client.send({
      path: this.path,
      fields: [authorization, CONTENT_TYPE],
      body: bodies.of(token, this.nowMs()),
      sender,
    });
    return result.result === 'answered'
      ? readFcmAnswer(gatewayAnswer(result), this.nowMs())
      : { outcome: unansweredOutcome(result.why, result.detail) };
  }

  private learn({ outcome, isOverQuota }: FcmVerdict, isTrusted: boolean): Outcome {
    // FCM does not always say that only the quota of one device is exceeded, and an untrusted one must not slow down all.
    if (isOverQuota === true && (isTrusted || !this.hasReached)) this.rate.slowDown();
    if (outcome.result === 'accepted') this.hasReached = true;
    // If no device was reached yet, the account is probably of another project: no device may be removed for that.
    if (outcome.result === 'token-gone' && outcome.reason === OTHER_PROJECT && !this.hasReached) {
      return refused(outcome.reason);
    }
    return outcome;
  }
}
