import type { FindAddresses } from '../../outgoing/http2/addresses.ts';
import { Http2Client, type Http2Event } from '../../outgoing/http2/client.ts';
import type { HeaderField } from '../../outgoing/http2/header-field.ts';
import { fieldOf } from '../../outgoing/http2/request.ts';
import type { Deliver, Gateway, Notification, Outcome } from '../../push/gateway.ts';
import { apnsMessage } from '../../push/messages/apns-message.ts';
import type { Recipient } from '../../push/model/device.ts';
import type { ApnsPayload } from '../../push/payloads/apns.ts';
import type { Timers } from '../../runtime/ports.ts';
import type { Sender } from '../../runtime/sender-queue.ts';
import { type ApnsVerdict, readApnsAnswer, readApnsSilence } from './apns-answer.ts';
import { apnsFields, apnsPath, isTopic } from './apns-request.ts';
import {
  type Environment,
  type EnvironmentMemory,
  environmentOrigins,
  otherEnvironment,
  RecentEnvironments,
} from './environments.ts';
import { type ApnsCredentials, type ProviderToken, ProviderTokens } from './provider-token.ts';

export interface ApnsGatewayOptions extends ApnsCredentials {
  /** `auto`: where one of Apple's services does not know a token, the other one is asked. */
  readonly environment: Environment | 'auto';
  /** In place of Apple's. Where both are the same, `auto` asks once. */
  readonly origins?: Partial<Record<Environment, string>>;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Shared by all gateways of a server. */
  readonly tokens?: ProviderTokens;
  readonly memory?: EnvironmentMemory;
  readonly findAddresses: FindAddresses;
  readonly timers?: Timers;
  readonly connectionsMax?: number;
  readonly requestTimeoutMs?: number;
  /** Hears what an operator may want to know of. */
  readonly tell?: (environment: Environment, news: Http2Event) => void;
}

/** Enough for 20,000 notifications a second where Apple takes a tenth of a second for each. */
const AT_ONCE = 2000;

/** Apple takes 1,000 requests at once on each, and wants few of them. Source: push protocol, §8.1. */
const CONNECTIONS_MAX = 4;
const STREAMS_MAX = 1000;

const REQUEST_TIMEOUT_MS = 15_000;

/** Apple wants connections to be kept for hours. Source: push protocol, §8.1. */
const IDLE_CLOSE_MS = 3600_000;

/** How often all connections may be replaced because Apple blames them. */
const REPLACE_MS_MIN = 60_000;

/** Apps whose header fields are kept for a publish, and which are known to be the right ones. */
const TOPICS_MAX = 100;

/** Makes the way to Apple's devices for one instance. Source: push protocol, §8.1. */
export function createApnsGateway(options: ApnsGatewayOptions): Gateway<'apns'> {
  return new ApnsGateway(options);
}

/** One of Apple's services. */
interface Service {
  readonly environment: Environment;
  readonly origin: Http2Client;
  /** Apps of which it has known a token: that it does not know another one says something of that one then. */
  readonly topics: Set<string>;
  replacedAtMs: number;
}

/** A publish for one device. */
interface Letter {
  readonly token: string;
  readonly path: string;
  /** The app, as Apple calls it. */
  readonly topic: string;
  readonly publish: PreparedPublish;
  readonly sender: Sender;
}

class ApnsGateway implements Gateway<'apns'> {
  readonly platform = 'apns';
  readonly atOnce = AT_ONCE;
  private readonly options: ApnsGatewayOptions;
  private readonly token: ProviderToken;
  private readonly memory: EnvironmentMemory;
  private readonly services = new Map<Environment, Service>();
  /** The service that is asked first for a token of which nothing is known. */
  private preferred: Environment;
  private readonly isAuto: boolean;
  private readonly known: Sender = { of: this, isNewcomer: false };
  private readonly newcomer: Sender = { of: this, isNewcomer: true };

  constructor(options: ApnsGatewayOptions) {
    this.options = options;
    this.token = (options.tokens ?? new ProviderTokens()).of(options);
    this.memory = options.memory ?? new RecentEnvironments();
    this.isAuto =
      options.environment === 'auto' && this.originOf('production') !== this.originOf('sandbox');
    this.preferred = options.environment === 'auto' ? 'production' : options.environment;
  }

  prepare(notification: Notification<ApnsPayload>): Deliver {
    const publish = new PreparedPublish(notification);
    return (recipient) => this.deliver(recipient, publish);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const origins = [...this.services.values()].map(({ origin }) => origin);
    await Promise.all(origins.map((origin) => origin[Symbol.asyncDispose]()));
  }

  private async deliver(
    { token, bundleId, acceptedBefore }: Recipient,
    publish: PreparedPublish,
  ): Promise<Outcome> {
    const path = apnsPath(token);
    if (path === undefined) return { result: 'refused', reason: 'no-apns-token', words: '' };
    if (!isTopic(bundleId)) return { result: 'refused', reason: 'no-bundle-id', words: '' };

    const sender = acceptedBefore ? this.known : this.newcomer;
    const letter = { token, path, topic: bundleId, publish, sender };
    const environment = (this.isAuto ? this.memory.get(token) : undefined) ?? this.preferred;
    const verdict = await this.send(environment, letter);
    return verdict.first === 'other-environment'
      ? this.sendElsewhere(environment, verdict.outcome, letter)
      : verdict.outcome;
  }

  /** Asks the other service, or says what it means that the only one does not know the token. */
  private async sendElsewhere(
    environment: Environment,
    outcome: Outcome,
    letter: Letter,
  ): Promise<Outcome> {
    if (!this.isAuto) return this.confirmed(environment, letter.topic, outcome);
    const other = otherEnvironment(environment);
    const verdict = await this.send(other, letter);
    switch (verdict.outcome.result) {
      case 'accepted':
        this.memory.set(letter.token, other);
        // It was the key that the first one did not take: all others are for this one, too.
        if (outcome.result === 'not-authorised') this.preferred = other;
        return verdict.outcome;
      case 'not-authorised':
        // The key is for the first one only, which has said all that there is to say.
        return this.confirmed(environment, letter.topic, outcome);
      case 'try-again':
        // Trouble over there is none of the devices whose tokens are known here.
        return { ...verdict.outcome, scope: 'device' };
      default:
        return verdict.outcome;
    }
  }

  /**
   * Where a service knows no token of an app, it is probably the wrong one: that is a mistake in the configuration,
   * for which no device may be removed.
   */
  private confirmed(environment: Environment, topic: string, outcome: Outcome): Outcome {
    if (outcome.result !== 'token-gone' || this.service(environment).topics.has(topic)) {
      return outcome;
    }
    return { result: 'refused', reason: outcome.reason, words: '' };
  }

  private async send(environment: Environment, letter: Letter): Promise<ApnsVerdict> {
    const service = this.service(environment);
    const sentAtMs = this.options.nowMs();
    const authorization = this.token.at(sentAtMs);
    const verdict = await this.sendOnce(service, letter, authorization);
    if (verdict.first === 'new-token') {
      const renewed = this.token.at(this.options.nowMs());
      return renewed === authorization ? verdict : this.sendOnce(service, letter, renewed);
    }
    return verdict.first === 'new-connection' && this.replaceConnections(service, sentAtMs)
      ? this.sendOnce(service, letter, authorization)
      : verdict;
  }

  private async sendOnce(
    { origin, topics }: Service,
    { path, topic, publish, sender }: Letter,
    authorization: HeaderField,
  ): Promise<ApnsVerdict> {
    const fields = publish.fieldsFor(topic, authorization);
    const result = await origin.send({ path, fields, body: publish.body, sender });
    if (result.result !== 'answered') return { outcome: readApnsSilence(result) };
    const { status, body } = result;
    const retryAfter = fieldOf(result.fields, 'retry-after');
    const verdict = readApnsAnswer({ status, body, retryAfter }, this.options.nowMs());
    if ((status === 200 || status === 410) && topics.size < TOPICS_MAX) topics.add(topic);
    return verdict;
  }

  /** Gives whether there are newer connections than at that time. Where those do not help either, it waits. */
  private replaceConnections(service: Service, sentAtMs: number): boolean {
    if (service.replacedAtMs >= sentAtMs) return true;
    const nowMs = this.options.nowMs();
    if (nowMs - service.replacedAtMs < REPLACE_MS_MIN) return false;
    service.replacedAtMs = nowMs;
    service.origin.replaceConnections('Apple wants another one');
    return true;
  }

  private originOf(environment: Environment): string {
    return this.options.origins?.[environment] ?? environmentOrigins[environment];
  }

  /** A service is connected to when it is first needed. */
  private service(environment: Environment): Service {
    const known = this.services.get(environment);
    if (known !== undefined) return known;
    const { ca, findAddresses, timers, tell } = this.options;
    const service: Service = {
      environment,
      origin: new Http2Client({
        origin: this.originOf(environment),
        ca,
        connectionsMax: this.options.connectionsMax ?? CONNECTIONS_MAX,
        streamsPerConnectionMax: STREAMS_MAX,
        // Whoever sends more than `atOnce` at a time is told so.
        waitingMax: AT_ONCE,
        requestTimeoutMs: this.options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
        idleCloseMs: IDLE_CLOSE_MS,
        findAddresses,
        ...(timers === undefined ? {} : { timers }),
        ...(tell === undefined ? {} : { tell: (news) => tell(environment, news) }),
      }),
      topics: new Set(),
      replacedAtMs: Number.NEGATIVE_INFINITY,
    };
    this.services.set(environment, service);
    return service;
  }
}

/** What is the same for all devices of a publish, and for all that have the same app. */
class PreparedPublish {
  readonly body: Buffer;
  private readonly notification: Notification<ApnsPayload>;
  private readonly headers: ReturnType<typeof apnsMessage>['headers'];
  private authorization: HeaderField | undefined;
  private readonly fields = new Map<string, readonly HeaderField[]>();

  constructor(notification: Notification<ApnsPayload>) {
    const { body, headers } = apnsMessage(notification.payload, notification);
    this.notification = notification;
    this.body = Buffer.from(body);
    this.headers = headers;
  }

  fieldsFor(topic: string, authorization: HeaderField): readonly HeaderField[] {
    if (this.authorization !== authorization || this.fields.size >= TOPICS_MAX) {
      this.authorization = authorization;
      this.fields.clear();
    }
    const known = this.fields.get(topic);
    if (known !== undefined) return known;
    const fields = apnsFields(this.headers, topic, this.notification.publishId, authorization);
    this.fields.set(topic, fields);
    return fields;
  }
}
