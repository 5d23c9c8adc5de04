import type { Deliver, Gateway, Outcome } from '../../gateway.ts';
import type { PublishUnderWay } from '../../model/delivery.ts';
import type { Platform } from '../../model/device.ts';
import { findLanguage, type Text, type Texts } from '../../model/texts.ts';
import { withText } from '../../payloads/localised.ts';
import type { Payloads } from '../../payloads/payloads.ts';
import { REFUSALS_ALIKE } from '../limits.ts';
import type { StoredPublish } from '../stored-publish.ts';
import { type Lifetime, lifetimeOf } from './lifetime.ts';

export type AnyGateway = { readonly [P in Platform]: Gateway<P> }[Platform];

/** Why no device of a publish gets it. */
export interface RefusedPublish {
  readonly reason: string;
  readonly words: string;
}

/** The reason of devices whose publish today's rules would refuse. */
const PUBLISH_UNREADABLE = 'publish-unreadable';

/** The lifetime of a publish that cannot be read. */
const OVER: Lifetime = { endsAtMs: 0, firstTryUntilMs: Number.POSITIVE_INFINITY, endsBy: 'itself' };

export interface PreparedPublishOptions {
  readonly publish: PublishUnderWay;
  /** `undefined`: today's rules would refuse it. */
  readonly stored: StoredPublish | undefined;
  readonly instanceId: string;
  readonly gateway: AnyGateway;
  /** For how long a notification is tried. */
  readonly retryMs: number;
  /** When its time to live starts, if that is later than when it was due. */
  readonly startMs?: number | undefined;
  /** When it was first tried, if quiet hours delayed that. */
  readonly triedFromMs?: number | undefined;
}

/** A publish as one gateway sends it. What is the same for all devices is made once. */
export class PreparedPublish {
  readonly publish: PublishUnderWay;
  readonly lifetime: Lifetime;
  /** How many slices use it. */
  slices = 0;
  /** Set when its devices are not tried any more. */
  refusal: RefusedPublish | undefined;
  deliver: Deliver;
  private readonly stored: StoredPublish | undefined;
  private readonly instanceId: string;
  private alike = 0;
  private lastReason = '';

  constructor(options: PreparedPublishOptions) {
    const { publish, stored, instanceId, gateway } = options;
    const { retryMs, startMs: dueAtMs = publish.dueAtMs, triedFromMs } = options;
    this.publish = publish;
    this.stored = stored;
    this.instanceId = instanceId;
    this.lifetime =
      stored === undefined
        ? OVER
        : lifetimeOf(stored.payloads, gateway.platform, { dueAtMs, retryMs, triedFromMs });
    this.deliver = this.prepareFor(gateway);
  }

  /** Uses another gateway from now on. */
  sendThrough(gateway: AnyGateway): void {
    this.refusal = undefined;
    this.alike = 0;
    this.deliver = this.prepareFor(gateway);
  }

  /** Takes note of an outcome. Returns whether it is the one that shows that all devices are refused alike. */
  learn(outcome: Outcome): boolean {
    if (outcome.result !== 'refused' || outcome.scope !== 'publish') {
      this.alike = 0;
      return false;
    }
    const { reason, words } = outcome;
    this.alike = reason === this.lastReason ? this.alike + 1 : 1;
    this.lastReason = reason;
    if (this.alike < REFUSALS_ALIKE || this.refusal !== undefined) return false;
    this.refusal = { reason, words };
    return true;
  }

  private prepareFor(gateway: AnyGateway): Deliver {
    const { instanceId, stored, publish } = this;
    const about = { instanceId, publishId: publish.id, acceptedAtMs: publish.dueAtMs };
    const deliver = stored && prepare(gateway, stored.payloads, about);
    if (stored === undefined || deliver === undefined) {
      this.refusal = { reason: PUBLISH_UNREADABLE, words: '' };
      return async () => ({ result: 'refused', reason: PUBLISH_UNREADABLE, words: '' });
    }
    const { payloads, texts } = stored;
    if (texts === undefined) return deliver;
    const withOne = (text: Text) => prepare(gateway, withText(payloads, text), about) ?? deliver;
    return byLanguage(texts, withOne, deliver);
  }
}

/** Sends each device the text of its language. The message of a language is made when the first device needs it. */
function byLanguage(texts: Texts, make: (text: Text) => Deliver, otherwise: Deliver): Deliver {
  const made = new Map<string, Deliver>();
  return (recipient) => {
    const language = findLanguage(texts, recipient.preferences?.language);
    const text = language === undefined ? undefined : texts.get(language);
    if (language === undefined || text === undefined) return otherwise(recipient);
    let deliver = made.get(language);
    if (deliver === undefined) {
      deliver = make(text);
      made.set(language, deliver);
    }
    return deliver(recipient);
  };
}

/** `undefined`: the publish has no payload for that platform. */
function prepare(
  gateway: AnyGateway,
  payloads: Payloads,
  about: Omit<Parameters<AnyGateway['prepare']>[0], 'payload'>,
): Deliver | undefined {
  switch (gateway.platform) {
    case 'apns':
      return payloads.apns && gateway.prepare({ ...about, payload: payloads.apns });
    case 'fcm':
      return payloads.fcm && gateway.prepare({ ...about, payload: payloads.fcm });
    case 'web':
      return payloads.web && gateway.prepare({ ...about, payload: payloads.web });
    default:
      return gateway satisfies never;
  }
}
