import type { KeyUses } from '../../runtime/keys/key-uses.ts';
import type { Cap } from './cap.ts';
import type { QuietHours } from './preferences.ts';

/** The limit of a user's devices on each platform. Source: push protocol, §2.3 and §3.5. */
export const DEVICES_PER_USER = 100;

/** The limit of devices at each push service that the operator has not named: anybody may have made it up. */
export const DEVICES_PER_OPEN_HOST = 100;

/** The limit of a device's interests. Source: push protocol, §2.3. */
export const INTERESTS_PER_DEVICE = 5000;

/** The push services that a browser's subscription may name. Source: push protocol, §8.3.6. */
export interface PushServiceRules {
  /** `host`: port 443, or any port if private addresses are allowed. `*.host`: every host below it. `host:port`: exactly. `*`: every host. */
  readonly allowedHosts: readonly string[];
  /** Also allows http, for push services on a developer's machine. */
  readonly allowPrivateAddresses: boolean;
}

/** The events of an instance's webhooks. Source: push protocol, §4.2. */
export type BeamsEventType =
  | 'v1.PublishToUsersAttempt'
  | 'v1.UserNotificationAcknowledgement'
  | 'v1.UserNotificationOpen';

/** A webhook of an instance. */
export interface InstanceWebhook {
  readonly url: string;
  readonly events: readonly BeamsEventType[];
  /** Signs the requests. */
  readonly secret: string;
  /** Sent with each event. */
  readonly customData: Readonly<Record<string, unknown>>;
}

/** A tenant of the push API, as it is served now. */
export interface PushInstance {
  /** A UUID in lower case. */
  readonly id: string;
  /** The number of the instance in the store. */
  readonly number: number;
  readonly name: string;
  /** All of them are valid. At least one. */
  readonly secretKeys: readonly string[];
  /** When its secret keys were last used on this server. Only set on live objects. */
  readonly keyUses?: KeyUses | undefined;
  /** The app whose users are those of the instance; `undefined`: it has none. */
  readonly appId?: string | undefined;
  readonly limits: {
    /** Refuses registrations at the limit, and publishes if a gateway has accepted more devices. 0: no limit, as below. */
    readonly devices: number;
    /** The sum over all devices. */
    readonly interests: number;
    readonly publishesPerSecond: number;
    /** Requests of its backend other than publishes. The same limit holds for invalid publishes. */
    readonly backendRequestsPerSecond: number;
    /** The bytes of the bodies of unfinished publishes. */
    readonly pendingPublishBytes: number;
    /** Hours after which a notification is not tried any more. */
    readonly retryHours: number;
    /** Devices per second that its backend imports. */
    readonly importRowsPerSecond: number;
    /** The sum over all devices and addresses, as in the two below. */
    readonly deviceRequestsPerSecond: number;
    /** Changed rows in the store. */
    readonly deviceRowsPerSecond: number;
    readonly reportsPerSecond: number;
  };
  /** What happens when a user who has reached the limit of devices signs in on another one. */
  readonly whenUserIsFull: 'refuse' | 'replace-oldest';
  /** What holds for devices that say nothing themselves. `undefined`: UTC, and no quiet hours. */
  readonly timeZone?: string | undefined;
  readonly quietHours?: QuietHours | undefined;
  /** How many notifications a device is shown in a time; `undefined`: any number. */
  readonly cap?: Cap | undefined;
  readonly web:
    | ({
        readonly vapidPublicKey: string;
        /** Whether Safari gets messages that it can show without a service worker. */
        readonly declarative: boolean;
      } & PushServiceRules)
    | undefined;
  readonly webhooks: readonly InstanceWebhook[];
}

/** The instances that this server serves now. */
export interface InstanceDirectory {
  /** `id` in any case. */
  byId(id: string): PushInstance | undefined;
}
