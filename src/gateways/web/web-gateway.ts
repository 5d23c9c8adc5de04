import type { Deliver, Gateway, Notification, Outcome } from '../../push/gateway.ts';
import { declarativeBytes, declarativeMessage } from '../../push/messages/declarative-message.ts';
import { WEB_MESSAGE_BYTES_MAX, webMessage } from '../../push/messages/web-message.ts';
import type { PushServiceRules } from '../../push/model/instance.ts';
import type { WebPayload } from '../../push/payloads/web.ts';
import { ANY_HOST, readEndpoint } from '../../push/requests/push-service.ts';
import { errorCode } from '../../runtime/error-code.ts';
import type { Sender } from '../../runtime/fairness/sender-queue.ts';
import { Recent } from '../../runtime/recent.ts';
import { refused } from '../outcomes.ts';
import { isApple } from './apple.ts';
import { encrypt, type Plaintext, plaintextOf } from './encryption.ts';
import { EncryptionBudget } from './encryption-budget.ts';
import type { PushServices } from './push-services.ts';
import { readSubscription, type WebSubscription } from './subscription.ts';
import { VapidAuthorization, type VapidSettings, VapidSigner } from './vapid.ts';
import { readWebPushResult } from './web-push-answer.ts';
import { WebPushFields } from './web-push-request.ts';

export interface WebGatewayOptions {
  readonly vapid: VapidSettings;
  /** Checked for each message: they may have changed since a browser registered. */
  readonly rules: PushServiceRules;
  /** Closed by their owner. They must allow private addresses exactly if `rules` do. */
  readonly services: Pick<PushServices, 'send'>;
  /** Whether Apple gets declarative messages if a publish does not say. */
  readonly declarative: boolean;
  readonly nowMs: () => number;
}

/** The two forms of a publish. */
interface Plaintexts {
  readonly forApple: Plaintext;
  readonly forOthers: Plaintext;
}

/** A push service that messages may be sent to. */
interface Service {
  readonly authorization: VapidAuthorization;
  /** Whether the operator has not named it. */
  readonly isOpen: boolean;
}

/** Enough for 8,000 messages a second at an answer time of 125 ms. */
const AT_ONCE = 1_000;

/** The limit of push services whose signed token is cached. */
const SERVICES_MAX = 100;

/** The gateway to the browsers of one instance. Sources: push protocol, §8.3, and RFC 8030. */
export class WebGateway implements Gateway<'web'> {
  readonly platform = 'web';
  readonly atOnce = AT_ONCE;
  private readonly options: WebGatewayOptions;
  private readonly signer: VapidSigner;
  private readonly encryptionBudget = new EncryptionBudget();
  private readonly trusted: Sender = { owner: this, isTrusted: true };
  private readonly untrusted: Sender = { owner: this, isTrusted: false };
  /** By origin of the push service. */
  private readonly services = new Recent<string, Service>(SERVICES_MAX);

  constructor(options: WebGatewayOptions) {
    this.options = options;
    this.signer = new VapidSigner(options.vapid);
  }

  prepare(notification: Notification<WebPayload>): Deliver {
    const fields = new WebPushFields(notification);
    const plaintexts = this.plaintextsOf(notification);
    return ({ token, isTrusted }) =>
      this.deliver(token, isTrusted ? this.trusted : this.untrusted, plaintexts, fields);
  }

  isOpen(origin: string): boolean {
    const { allowedHosts } = this.options.rules;
    return allowedHosts.includes(ANY_HOST) && this.serviceAt(origin)?.isOpen === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.services.clear();
  }

  private plaintextsOf(notification: Notification<WebPayload>): Plaintexts {
    const { payload } = notification;
    const forOthers = plaintextOf(webMessage(payload, notification));
    if (!(payload.declarative ?? this.options.declarative))
      return { forApple: forOthers, forOthers };
    // The setting may be newer than the publish, which then was not measured for it.
    const fits = declarativeBytes(payload, notification) <= WEB_MESSAGE_BYTES_MAX;
    const forApple = fits ? plaintextOf(declarativeMessage(payload, notification)) : forOthers;
    return { forApple, forOthers };
  }

  private async deliver(
    token: string,
    sender: Sender,
    { forApple, forOthers }: Plaintexts,
    fields: WebPushFields,
  ): Promise<Outcome> {
    const subscription = readSubscription(token);
    if (subscription === undefined) return refused('bad-subscription');
    const service = this.serviceAt(subscription.origin);
    if (service === undefined) return refused('host-not-allowed');

    const permitted = this.encryptionBudget.take(sender);
    if (permitted !== undefined) await permitted;
    const plaintext = isApple(subscription.hostname) ? forApple : forOthers;
    const body = encryptFor(subscription, plaintext);
    if (body === undefined) return refused('bad-keys');
    const nowMs = this.options.nowMs();
    const result = await this.options.services.send(subscription.origin, {
      path: subscription.path,
      fields: [service.authorization.at(nowMs), ...fields.at(nowMs, subscription.hostname)],
      body,
      sender,
      isOpen: service.isOpen,
    });
    return readWebPushResult(result, this.options.nowMs());
  }

  /** `undefined` if messages may not be sent there. */
  private serviceAt(origin: string): Service | undefined {
    const known = this.services.get(origin);
    if (known !== undefined) return known;
    const read = readEndpoint(`${origin}/`, this.options.rules);
    if (!read.ok) return undefined;
    const authorization = new VapidAuthorization(this.signer, origin);
    const service = { authorization, isOpen: read.openHost !== undefined };
    this.services.set(origin, service);
    return service;
  }
}

/** `undefined` if the browser's key is invalid. */
function encryptFor(
  { keys }: WebSubscription,
  plaintext: Plaintext,
): Buffer<ArrayBuffer> | undefined {
  try {
    return encrypt(plaintext, keys);
  } catch (error) {
    if (errorCode(error) === 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY') return undefined;
    throw error;
  }
}
