/** How many devices one user may have on each platform. Source: push protocol, §2.3 and §3.5. */
export const DEVICES_PER_USER = 100;

/** How many interests one device may have. Source: push protocol, §2.3. */
export const INTERESTS_PER_DEVICE = 5000;

/** Which push services a browser's subscription may name. Source: push protocol, §8.3.6. */
export interface PushServiceRules {
  /** `host` is port 443 (any port where private addresses are allowed), `*.host` every host below it, `host:port` exact. */
  readonly allowedHosts: readonly string[];
  /** Also allows http, as a push service on a developer's machine has. */
  readonly allowPrivateAddresses: boolean;
}

/** What webhooks of an instance tell of. Source: push protocol, §4.2. */
export type BeamsEventType =
  | 'v1.PublishToUsersAttempt'
  | 'v1.UserNotificationAcknowledgement'
  | 'v1.UserNotificationOpen';

/** Where events of an instance are sent. */
export interface InstanceWebhook {
  readonly url: string;
  readonly events: readonly BeamsEventType[];
  /** What requests are signed with. */
  readonly secret: string;
  /** Sent along with each event. */
  readonly customData: Readonly<Record<string, unknown>>;
}

/** A tenant of the push side, as it is served now. */
export interface PushInstance {
  /** A UUID in lower case. */
  readonly id: string;
  /** The number that its rows in the store go by. */
  readonly number: number;
  readonly name: string;
  /** Each of them is valid; there is one at least. */
  readonly secretKeys: readonly string[];
  readonly limits: {
    /** 0: no limit. One more may not register; with more that a gateway has accepted, publishing is refused. */
    readonly devices: number;
    /** Of all devices together, each counted for each device. 0: no limit. */
    readonly interests: number;
    /** 0: no limit. */
    readonly publishesPerSecond: number;
    /** Requests of its backend that are no publish, and as many publishes that break a rule. 0: no limit. */
    readonly backendRequestsPerSecond: number;
    /** Bytes in the bodies of publishes that are not finished. 0: no limit. */
    readonly pendingPublishBytes: number;
    /** Of all devices together, from all addresses. 0: no limit, also in the two that follow. */
    readonly deviceRequestsPerSecond: number;
    /** Rows that devices change in the store. */
    readonly deviceRowsPerSecond: number;
    readonly reportsPerSecond: number;
  };
  /** What happens when a user who has as many devices as allowed signs in on another one. */
  readonly whenUserIsFull: 'refuse' | 'replace-oldest';
  readonly web: ({ readonly vapidPublicKey: string } & PushServiceRules) | undefined;
  readonly webhooks: readonly InstanceWebhook[];
}

/** The instances that this server serves. */
export interface InstanceDirectory {
  /** `id` in any case. */
  byId(id: string): PushInstance | undefined;
}
