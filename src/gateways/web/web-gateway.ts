import type { Deliver, Gateway, Notification, Outcome } from '../../push/gateway.ts';
import { webMessage } from '../../push/messages/web-message.ts';
import type { PushServiceRules } from '../../push/model/instance.ts';
import type { WebPayload } from '../../push/payloads/web.ts';
import { readEndpoint } from '../../push/requests/push-service.ts';
import type { Sender } from '../../runtime/sender-queue.ts';
import { encrypt, type Plaintext, plaintextOf } from './encryption.ts';
import { EncryptionBudget } from './encryption-budget.ts';
import type { PushServices } from './push-services.ts';
import { readSubscription, type Subscription } from './subscription.ts';
import { VapidAuthorization, type VapidSettings, VapidSigner } from './vapid.ts';
import { readWebPushResult } from './web-push-answer.ts';
import { WebPushFields } from './web-push-request.ts';

export interface WebGatewayOptions {
  readonly vapid: VapidSettings;
  /** Looked at for each message: they may have changed since a browser registered. */
  readonly rules: PushServiceRules;
  /** Whoever made them closes them. They connect to private addresses exactly where `rules` allow that. */
  readonly origins: Pick<PushServices, 'send'>;
  readonly nowMs: () => number;
}

/** Enough for 8,000 messages a second to a push service that takes an eighth of a second for each. */
const AT_ONCE = 1_000;

/** Push services of which something is remembered. One that was forgotten begins anew. */
const SERVICES_MAX = 100;

/** Makes the way to the browsers of one instance. Sources: push protocol, §8.3, and RFC 8030. */
export function createWebGateway(options: WebGatewayOptions): Gateway<'web'> {
  return new WebGateway(options);
}

class WebGateway implements Gateway<'web'> {
  readonly platform = 'web';
  readonly atOnce = AT_ONCE;
  private readonly options: WebGatewayOptions;
  private readonly signer: VapidSigner;
  private readonly turns = new EncryptionBudget();
  private readonly known: Sender = { of: this, isNewcomer: false };
  private readonly newcomer: Sender = { of: this, isNewcomer: true };
  /** What tells each push service who sends, by its origin. */
  private readonly services = new Map<string, VapidAuthorization>();

  constructor(options: WebGatewayOptions) {
    this.options = options;
    this.signer = new VapidSigner(options.vapid);
  }

  prepare(notification: Notification<WebPayload>): Deliver {
    const fields = new WebPushFields(notification);
    const plaintext = plaintextOf(webMessage(notification.payload, notification));
    return ({ token, acceptedBefore }) =>
      this.deliver(token, acceptedBefore ? this.known : this.newcomer, plaintext, fields);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.services.clear();
  }

  private async deliver(
    token: string,
    sender: Sender,
    plaintext: Plaintext,
    fields: WebPushFields,
  ): Promise<Outcome> {
    const subscription = readSubscription(token);
    if (subscription === undefined) return refuse('bad-subscription');
    const authorization = this.authorizationAt(subscription.origin);
    if (authorization === undefined) return refuse('host-not-allowed');

    const turn = this.turns.take(sender);
    if (turn !== undefined) await turn;
    const body = encryptFor(subscription, plaintext);
    if (body === undefined) return refuse('bad-keys');
    const nowMs = this.options.nowMs();
    const result = await this.options.origins.send(subscription.origin, {
      path: subscription.path,
      fields: [authorization.at(nowMs), ...fields.at(nowMs, subscription.hostname)],
      body,
      sender,
    });
    return readWebPushResult(result, this.options.nowMs());
  }

  /** `undefined`: messages may not be sent there. */
  private authorizationAt(origin: string): VapidAuthorization | undefined {
    const known = this.services.get(origin);
    if (known !== undefined) return known;
    if (!readEndpoint(`${origin}/`, this.options.rules).ok) return undefined;
    const authorization = new VapidAuthorization(this.signer, origin);
    const [oldest] = this.services.keys();
    if (oldest !== undefined && this.services.size >= SERVICES_MAX) this.services.delete(oldest);
    this.services.set(origin, authorization);
    return authorization;
  }
}

function refuse(reason: string): Outcome {
  return { result: 'refused', reason, words: '' };
}

/** `undefined` where the browser's key is none. */
function encryptFor({ keys }: Subscription, plaintext: Plaintext): Buffer<ArrayBuffer> | undefined {
  try {
    return encrypt(plaintext, keys);
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      error.code === 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY'
    )
      return undefined;
    throw error;
  }
}
