import type { Platform, Recipient } from './model/device.ts';
import type { PublishId } from './model/publish.ts';
import type { ApnsPayload } from './payloads/apns.ts';
import type { FcmPayload } from './payloads/fcm.ts';
import type { WebPayload } from './payloads/web.ts';

/** A publish as one platform sends it, to as many devices as there are. */
export interface Notification<Payload> {
  readonly instanceId: string;
  readonly publishId: PublishId;
  readonly payload: Payload;
  /** When the publish was accepted, or was to go out. Its time to live counts from here. */
  readonly acceptedAtMs: number;
}

/** The payload of each platform. */
export interface Payloads {
  readonly apns: ApnsPayload;
  readonly fcm: FcmPayload;
  readonly web: WebPayload;
}

/** Which devices a temporary failure concerns. */
export type TroubleScope =
  /** This device. */
  | 'device'
  /** The gateway, as it answered for this device. What the device registered may still be the cause. */
  | 'gateway'
  /** All devices: it failed before any device was named, so no device can be the cause. */
  | 'connection';

/** What became of one notification for one device. `reason` is one word or code, always the same for the same cause. */
export type Outcome =
  /** The gateway has taken it. */
  | { readonly result: 'accepted' }
  /** It may succeed later. `afterMs` is the pause that the gateway asked for. */
  | {
      readonly result: 'try-again';
      readonly reason: string;
      readonly afterMs: number | undefined;
      readonly scope: TroubleScope;
    }
  /** The token reaches nobody any more; since when, where the gateway says so. */
  | {
      readonly result: 'token-gone';
      readonly reason: string;
      readonly sinceMs: number | undefined;
    }
  /**
   * This device does not get it, now or later; with the scope `'publish'`, no other one of the publish would, however
   * it is reached. `words` are the gateway's own, at most 200 characters, or empty.
   */
  | {
      readonly result: 'refused';
      readonly reason: string;
      readonly words: string;
      readonly scope?: 'publish';
    }
  /**
   * The operator's credential is not accepted: by the gateway as it answered for this device, or, with the scope
   * `'connection'`, before any device was named.
   */
  | {
      readonly result: 'not-authorised';
      readonly reason: string;
      readonly words: string;
      readonly scope?: 'connection';
    };

/** Hands one notification to one device's gateway. */
export type Deliver = (recipient: Recipient) => Promise<Outcome>;

/**
 * The way to the devices of one platform, for one instance.
 *
 * `prepare` makes once what is the same for all devices of a publish. What it gives settles for every recipient
 * with an outcome, within a bounded time, and never throws for what a gateway or a network does. It may be called
 * for as many recipients at the same time as `atOnce` says; more would only wait inside.
 */
export interface Gateway<P extends Platform> extends AsyncDisposable {
  readonly platform: P;
  readonly atOnce: number;
  prepare(notification: Notification<Payloads[P]>): Deliver;
}
