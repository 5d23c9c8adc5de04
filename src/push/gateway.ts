import type { Platform, Recipient } from './model/device.ts';
import type { PublishId } from './model/publish.ts';
import type { ApnsPayload } from './payloads/apns.ts';
import type { FcmPayload } from './payloads/fcm.ts';
import type { WebPayload } from './payloads/web.ts';

/** A publish as it is sent to the devices of one platform. */
export interface Notification<Payload> {
  readonly instanceId: string;
  readonly publishId: PublishId;
  readonly payload: Payload;
  /** When the publish was accepted or scheduled to be sent. Its time to live starts here. */
  readonly acceptedAtMs: number;
}

/** The payload of each platform. */
export interface RequiredPayloads {
  readonly apns: ApnsPayload;
  readonly fcm: FcmPayload;
  readonly web: WebPayload;
}

/** Which devices a temporary failure concerns. */
export type TroubleScope =
  /** Only this device. */
  | 'device'
  /** The gateway, as it answered for this device. What the device registered may be the cause. */
  | 'gateway'
  /** All devices: it failed before a device was named, so no device can be the cause. */
  | 'connection';

/** The outcome of one notification for one device. `reason` is a code, always the same for the same cause. */
export type Outcome =
  /** The gateway has accepted it. */
  | { readonly result: 'accepted' }
  /**
   * It may succeed later. `afterMs` is the pause that the gateway asked for. `words` say more about the reason, in at
   * most 200 characters.
   */
  | {
      readonly result: 'try-again';
      readonly reason: string;
      readonly afterMs: number | undefined;
      readonly scope: TroubleScope;
      readonly words?: string;
    }
  /** The token is no longer valid; since `sinceMs`, if the gateway says so. */
  | {
      readonly result: 'token-gone';
      readonly reason: string;
      readonly sinceMs: number | undefined;
    }
  /**
   * Permanently refused for this device or, with the scope `'publish'`, for every device of the publish. `words` is
   * the gateway's own text, at most 200 characters, or empty.
   */
  | {
      readonly result: 'refused';
      readonly reason: string;
      readonly words: string;
      readonly scope?: 'publish';
    }
  /**
   * The operator's credential is not accepted: in the answer for this device or, with the scope `'connection'`, before
   * a device was named.
   */
  | {
      readonly result: 'not-authorised';
      readonly reason: string;
      readonly words: string;
      readonly scope?: 'connection';
    };

/** Sends a notification to one device. */
export type Deliver = (recipient: Recipient) => Promise<Outcome>;

/**
 * Sends notifications to the devices of one platform, for one instance.
 *
 * `prepare` does once what is the same for all devices of a publish. The function that it returns must settle for
 * each recipient with an outcome, within a bounded time, and must not reject because of a gateway or a network.
 * Callers run it for at most `atOnce` recipients concurrently; more would only wait inside.
 */
export interface Gateway<P extends Platform> extends AsyncDisposable {
  readonly platform: P;
  readonly atOnce: number;
  /** Whether anybody may have chosen the push service at an origin, because the operator has not named it. */
  isOpen?(origin: string): boolean;
  prepare(notification: Notification<RequiredPayloads[P]>): Deliver;
}
