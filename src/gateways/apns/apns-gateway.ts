import { Http2Client, type Http2Event } from '../../outgoing/http2/client.ts';
import type { FindAddresses } from '../../outgoing/http2/connecting/addresses.ts';
import type { HeaderField } from '../../outgoing/http2/hpack/header-field.ts';
import type { Deliver, Gateway, Notification, Outcome } from '../../push/gateway.ts';
import { apnsMessage } from '../../push/messages/apns-message.ts';
import { type ApnsPushType, topicOf } from '../../push/model/apns-push-types.ts';
import type { Recipient } from '../../push/model/device.ts';
import {
  type BroadcastKind,
  bareToken,
  CHANNEL_ID,
  isChannel,
} from '../../push/model/token-kind.ts';
import type { ApnsPayload } from '../../push/payloads/apns.ts';
import type { Sender } from '../../runtime/fairness/sender-queue.ts';
import type { Timers } from '../../runtime/ports.ts';
import { gatewayAnswer } from '../answer.ts';
import { refused, unansweredOutcome } from '../outcomes.ts';
import { type ApnsVerdict, readApnsAnswer } from './apns-answer.ts';
import { apnsFields, apnsPath, isTopic } from './apns-request.ts';
import { broadcastFields, broadcastPath, type ChannelAddress } from './broadcast-request.ts';
import { ApnsChannels } from './channels.ts';
import {
  type ApnsEnvironment,
  environmentOrigins,
  otherEnvironment,
  RecentEnvironments,
} from './environments.ts';
import { type ApnsCredentials, type ProviderToken, ProviderTokens } from './provider-token.ts';

export interface ApnsGatewayOptions extends ApnsCredentials {
  /** `auto`: if one of Apple's services does not know a token, the other one is tried. */
  readonly environment: ApnsEnvironment | 'auto';
  /** In place of Apple's. If both are the same, `auto` tries one. */
  readonly origins?: Partial<Record<ApnsEnvironment, string>>;
  /** Certificates to trust in place of the system's, as PEM. */
  readonly ca?: string | undefined;
  /** Milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Shared by all gateways of a server. */
  readonly tokens?: ProviderTokens;
  readonly memory?: RecentEnvironments;
  readonly findAddresses: FindAddresses;
  readonly timers?: Timers;
  readonly connectionsMax?: number;
  readonly requestTimeoutMs?: number;
  /** Reports what an operator may want to know. */
  readonly onEvent?: (environment: ApnsEnvironment, event: Http2Event) => void;
}

/** Enough for 20,000 notifications a second at an answer time of 100 ms. */
const AT_ONCE = 2000;

/** Apple accepts 1,000 concurrent requests on each, and wants few connections. Source: push protocol, §8.1. */
const CONNECTIONS_MAX = 4;
const STREAMS_MAX = 1000;

const REQUEST_TIMEOUT_MS = 15_000;

/** Apple wants connections to stay open for hours. Source: push protocol, §8.1. */
const IDLE_CLOSE_MS = 3600_000;

/** Least time between replacing all connections because Apple penalises them. */
const REPLACE_MS_MIN = 60_000;

/** Apps (topics) that are remembered, for each publish and each service. */
const TOPICS_MAX = 100;

/** One of Apple's services. */
interface Service {
  readonly environment: ApnsEnvironment;
  readonly client: Http2Client;
  /** Apps of which it knew a token. Only for those, an unknown token is the token's fault. */
  readonly topics: Set<string>;
  replacedAtMs: number;
}

/** A publish for one device. */
interface Message {
  readonly token: string;
  /** `undefined`: a single device. */
  readonly channel: ChannelAddress | undefined;
  readonly path: string;
  /** The app, as Apple calls it. */
  readonly topic: string;
  readonly publish: PreparedPublish;
  readonly sender: Sender;
}

/** The gateway to Apple's devices for one instance. Source: push protocol, §8.1. */
export class ApnsGateway implements Gateway<'apns'> {
  readonly platform = 'apns';
  readonly atOnce = AT_ONCE;
  private readonly options: ApnsGatewayOptions;
  /** The broadcast channels of the instance's apps. */
  readonly channels: ApnsChannels;
  private readonly channelEnvironment: ApnsEnvironment;
  private readonly token: ProviderToken;
  private readonly memory: RecentEnvironments;
  private readonly services = new Map<ApnsEnvironment, Service>();
  /** The service that is tried first for an unknown token. */
  private preferred: ApnsEnvironment;
  private readonly isAuto: boolean;
  private readonly trusted: Sender = { owner: this, isTrusted: true };
  private readonly untrusted: Sender = { owner: this, isTrusted: false };

  constructor(options: ApnsGatewayOptions) {
    this.options = options;
    this.token = (options.tokens ?? new ProviderTokens()).of(options);
    this.memory = options.memory ?? new RecentEnvironments();
    this.isAuto =
      options.environment === 'auto' && this.originOf('production') !== this.originOf('sandbox');
    this.preferred = options.environment === 'auto' ? 'production' : options.environment;
    this.channelEnvironment = this.preferred;
    const { ca, nowMs, findAddresses, onEvent } = options;
    this.channels = new ApnsChannels({
      environment: this.channelEnvironment,
      origin: options.origins?.[this.channelEnvironment],
      ca,
      token: this.token,
      nowMs,
      findAddresses,
      onEvent: (event) => onEvent?.(this.channelEnvironment, event),
    });
  }

  prepare(notification: Notification<ApnsPayload>): Deliver {
    const publish = new PreparedPublish(notification);
    return (recipient) => this.deliver(recipient, publish);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const services = [...this.services.values()];
    await Promise.all([
      this.channels[Symbol.asyncDispose](),
      ...services.map(({ client }) => client[Symbol.asyncDispose]()),
    ]);
  }

  private async deliver(
    { token, kind, bundleId, isTrusted }: Recipient,
    publish: PreparedPublish,
  ): Promise<Outcome> {
    if (isChannel(kind)) return this.broadcast({ token, kind, bundleId, isTrusted }, publish);
    const path = apnsPath(bareToken(token));
    if (path === undefined) return refused('no-apns-token');
    const topic = bundleId === undefined ? undefined : topicOf(bundleId, publish.pushType);
    if (!isTopic(topic)) return refused('no-bundle-id');

    const sender = isTrusted ? this.trusted : this.untrusted;
    const message = { token, channel: undefined, path, topic, publish, sender };
    const environment = (this.isAuto ? this.memory.get(token) : undefined) ?? this.preferred;
    const verdict = await this.send(environment, message);
    return verdict.first === 'other-environment'
      ? this.sendToOther(environment, verdict.outcome, message)
      : verdict.outcome;
  }

  /** Sends to a channel, which is at one of Apple's services only. */
  private async broadcast(
    {
      token,
      kind,
      bundleId = '',
      isTrusted,
    }: Pick<Recipient, 'token' | 'bundleId' | 'isTrusted'> & { readonly kind: BroadcastKind },
    publish: PreparedPublish,
  ): Promise<Outcome> {
    const id = bareToken(token);
    if (!CHANNEL_ID.test(id)) return refused('no-apns-token');
    if (!isTopic(bundleId)) return refused('no-bundle-id');
    const verdict = await this.send(this.channelEnvironment, {
      token,
      channel: { id, keepsLatest: kind === 'channel-latest' },
      path: broadcastPath(bundleId),
      topic: bundleId,
      publish,
      sender: isTrusted ? this.trusted : this.untrusted,
    });
    return verdict.outcome;
  }

  /** Tries the other service, if there is one. */
  private async sendToOther(
    environment: ApnsEnvironment,
    outcome: Outcome,
    message: Message,
  ): Promise<Outcome> {
    if (!this.isAuto) return this.confirmed(environment, message.topic, outcome);
    const other = otherEnvironment(environment);
    const verdict = await this.send(other, message);
    switch (verdict.outcome.result) {
      case 'accepted':
        this.memory.set(message.token, other);
        // The first one refused the key, so all other tokens are for this one, too.
        if (outcome.result === 'not-authorised') this.preferred = other;
        return verdict.outcome;
      case 'not-authorised':
        // The key is for the first one only, whose answer counts.
        return this.confirmed(environment, message.topic, outcome);
      case 'try-again':
        // Trouble of the other service does not concern devices of the first.
        return { ...verdict.outcome, scope: 'device' };
      default:
        return verdict.outcome;
    }
  }

  /**
   * A service that knows no token of an app is probably the wrong one. For such a mistake in the configuration no device
   * may be removed.
   */
  private confirmed(environment: ApnsEnvironment, topic: string, outcome: Outcome): Outcome {
    if (outcome.result !== 'token-gone' || this.service(environment).topics.has(topic)) {
      return outcome;
    }
    return refused(outcome.reason);
  }

  private async send(environment: ApnsEnvironment, message: Message): Promise<ApnsVerdict> {
    const service = this.service(environment);
    const sentAtMs = this.options.nowMs();
    const authorization = this.token.at(sentAtMs);
    const verdict = await this.sendOnce(service, message, authorization);
    if (verdict.first === 'new-token') {
      const renewed = this.token.at(this.options.nowMs());
      return renewed === authorization ? verdict : this.sendOnce(service, message, renewed);
    }
    return verdict.first === 'new-connection' && this.replaceConnections(service, sentAtMs)
      ? this.sendOnce(service, message, authorization)
      : verdict;
  }

  private async sendOnce(
    { client, topics }: Service,
    { channel, path, topic, publish, sender }: Message,
    authorization: HeaderField,
  ): Promise<ApnsVerdict> {
    const fields =
      channel === undefined
        ? publish.fieldsFor(topic, authorization)
        : publish.fieldsOfChannel(channel, authorization);
    const result = await client.send({ path, fields, body: publish.body, sender });
    if (result.result !== 'answered') {
      return { outcome: unansweredOutcome(result.why, result.detail) };
    }
    const { status } = result;
    const verdict = readApnsAnswer(gatewayAnswer(result), this.options.nowMs());
    const isKnown = (status === 200 || status === 410) && channel === undefined;
    if (isKnown && topics.size < TOPICS_MAX) topics.add(topic);
    return verdict;
  }

  /**
   * Returns whether there are newer connections than at `sentAtMs`. Connections are replaced at most once a minute.
   */
  private replaceConnections(service: Service, sentAtMs: number): boolean {
    if (service.replacedAtMs >= sentAtMs) return true;
    const nowMs = this.options.nowMs();
    if (nowMs - service.replacedAtMs < REPLACE_MS_MIN) return false;
    service.replacedAtMs = nowMs;
    service.client.replaceConnections('Apple asked for a new connection');
    return true;
  }

  private originOf(environment: ApnsEnvironment): string {
    return this.options.origins?.[environment] ?? environmentOrigins[environment];
  }

  /** Creates a service when it is first needed. */
  private service(environment: ApnsEnvironment): Service {
    const known = this.services.get(environment);
    if (known !== undefined) return known;
    const { ca, findAddresses, timers, onEvent } = this.options;
    const service: Service = {
      environment,
      client: new Http2Client({
        origin: this.originOf(environment),
        ca,
        connectionsMax: this.options.connectionsMax ?? CONNECTIONS_MAX,
        streamsPerConnectionMax: STREAMS_MAX,
        // Callers keep to `atOnce`, so this is not reached.
        waitingMax: AT_ONCE,
        requestTimeoutMs: this.options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
        idleCloseMs: IDLE_CLOSE_MS,
        findAddresses,
        timers,
        onEvent: (event) => onEvent?.(environment, event),
      }),
      topics: new Set(),
      replacedAtMs: Number.NEGATIVE_INFINITY,
    };
    this.services.set(environment, service);
    return service;
  }
}

/** The parts of a publish that are the same for all devices, or for all with the same app. */
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

  get pushType(): ApnsPushType {
    return this.headers.pushType;
  }

  fieldsOfChannel(channel: ChannelAddress, authorization: HeaderField): readonly HeaderField[] {
    const { acceptedAtMs } = this.notification;
    return broadcastFields(this.headers, channel, { acceptedAtMs, authorization });
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
