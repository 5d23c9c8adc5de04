import type { Deliver, Gateway, Outcome } from '../gateway.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import type { Platform } from '../model/device.ts';
import type { Payloads } from '../payloads/payloads.ts';
import { type Lifetime, lifetimeOf } from './lifetime.ts';
import { REFUSALS_ALIKE } from './limits.ts';
import type { StoredPublish } from './stored-publish.ts';

export type AnyGateway = { readonly [P in Platform]: Gateway<P> }[Platform];

/** Why none of a publish's devices gets it. */
export interface RefusedPublish {
  readonly reason: string;
  readonly words: string;
}

/** The reason of devices whose publish cannot be read any more, as after rules have changed. */
const PUBLISH_UNREADABLE = 'publish-unreadable';

/** Nobody is reached by what cannot be read. */
const OVER: Lifetime = { endsAtMs: 0, firstTryUntilMs: Number.POSITIVE_INFINITY };

/** A publish as one gateway sends it: what is the same for all of its devices, made once. */
export class Prepared {
  readonly publish: PublishUnderWay;
  readonly lifetime: Lifetime;
  /** Parts that use it. */
  uses = 0;
  /** Its devices are not tried any more. */
  refusal: RefusedPublish | undefined;
  deliver: Deliver;
  private readonly payloads: Payloads | undefined;
  private readonly instanceId: string;
  private alike = 0;
  private lastReason = '';

  constructor(
    publish: PublishUnderWay,
    stored: StoredPublish | undefined,
    instanceId: string,
    gateway: AnyGateway,
  ) {
    this.publish = publish;
    this.payloads = stored?.payloads;
    this.instanceId = instanceId;
    this.lifetime =
      stored === undefined ? OVER : lifetimeOf(stored.payloads, gateway.platform, publish.dueAtMs);
    this.deliver = this.prepareFor(gateway);
  }

  /** The gateway was replaced. */
  sendThrough(gateway: AnyGateway): void {
    this.refusal = undefined;
    this.alike = 0;
    this.deliver = this.prepareFor(gateway);
  }

  /** Takes in an outcome, and says whether it shows that every device is refused for the same reason. */
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
    const { instanceId, payloads, publish } = this;
    const about = { instanceId, publishId: publish.id, acceptedAtMs: publish.dueAtMs };
    const deliver = payloads && prepare(gateway, payloads, about);
    if (deliver !== undefined) return deliver;
    this.refusal = { reason: PUBLISH_UNREADABLE, words: '' };
    return async () => ({ result: 'refused', reason: PUBLISH_UNREADABLE, words: '' });
  }
}

/** `undefined` where the publish has nothing for that platform. */
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
