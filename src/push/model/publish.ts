import type { Branded } from '../../runtime/branded.ts';
import type { ApnsAudience } from './apns-push-types.ts';
import type { Platform } from './device.ts';
import type { LiveRequest, LiveStatus } from './live.ts';

/** One accepted publish, for example `pubid-0b8e7c9c-…`. */
export type PublishId = Branded<'PublishId'>;

/** The devices that a publish is for: those subscribed to any of the interests, or of any of the users. No duplicates. */
export type PublishTarget =
  | { readonly kind: 'interests'; readonly names: readonly string[] }
  | { readonly kind: 'users'; readonly names: readonly string[] };

/** A valid publish. */
export interface PublishRequest {
  readonly target: PublishTarget;
  /** The platforms with a payload. At least one. */
  readonly platforms: readonly Platform[];
  /** Which of Apple's tokens it is for; `undefined`: ordinary ones, which get an alert, or none. */
  readonly apns?: ApnsAudience | undefined;
  readonly webhookUrl: string | undefined;
  /** When to send it; `undefined`: at once. */
  readonly sendAtMs: number | undefined;
  /** The languages in which it has texts. */
  readonly languages?: readonly string[] | undefined;
  /** The event that its users get in the app. */
  readonly live?: LiveRequest | undefined;
  /** The event that became this publish by a rule of an app. */
  readonly rule?: RuleCause | undefined;
  /** The part of the body that is kept, as JSON. Payloads are read from it again for sending. */
  readonly body: string;
}

/** An event of an app that a push rule has made a publish of. */
export interface RuleCause {
  readonly app: string;
  readonly channel: string;
  readonly event: string;
}

/** A publish to be stored. */
export interface NewPublish extends PublishRequest {
  readonly id: PublishId;
  readonly instance: number;
  readonly createdAtMs: number;
  /** If given, a repeated request is accepted only once. */
  readonly idempotency: Idempotency | undefined;
  /** The publish is refused if more devices of the instance have been accepted by a gateway. 0: no limit. */
  readonly devicesMax: number;
  /** The publish is refused if the bodies of the instance's unfinished publishes would have more bytes. 0: no limit. */
  readonly pendingBytesMax: number;
}

export interface Idempotency {
  readonly key: string;
  /** Equal for equal requests. */
  readonly fingerprint: string;
  readonly expiresAtMs: number;
}

export type Acceptance =
  /** Stored durably. `id` is that of the first publish if this one repeats it. */
  | {
      readonly result: 'accepted';
      readonly id: PublishId;
      /** Set if unfinished publishes take most of their room, so that some should give way. */
      readonly isRoomScarce?: true;
    }
  /** Another request used the same key. */
  | { readonly result: 'key-taken' }
  /** `devices` counts those that a gateway has accepted. Others do not count: anybody can register them. */
  | { readonly result: 'over-plan'; readonly devices: number }
  | { readonly result: 'too-much-pending' };

export type PublishState = 'scheduled' | 'planning' | 'delivering' | 'finished' | 'cancelled';

/** Devices by the outcome of their notification. */
export interface PlatformCounts {
  readonly planned: number;
  readonly accepted: number;
  readonly retrying: number;
  readonly failed: number;
  readonly pruned: number;
  readonly expired: number;
  readonly cancelled: number;
}

export const NO_COUNTS: PlatformCounts = {
  planned: 0,
  accepted: 0,
  retrying: 0,
  failed: 0,
  pruned: 0,
  expired: 0,
  cancelled: 0,
};

/** How far a publish has come. */
export interface PublishStatus {
  readonly id: PublishId;
  readonly state: PublishState;
  readonly createdAtMs: number;
  /** `undefined`: at once. */
  readonly sendAtMs: number | undefined;
  /** When the next devices are due that are due later than others; `undefined`: none waits for a time of its own. */
  readonly nextAtMs?: number | undefined;
  /** Until when it sends, if it says how many notifications per second; `undefined`: none waits. */
  readonly lastAtMs?: number | undefined;
  readonly platforms: Readonly<Record<Platform, PlatformCounts>>;
  /** The live result; `undefined`: it has no live part. */
  readonly live?: LiveStatus | undefined;
  /** The event that became this publish by a rule of an app. */
  readonly rule?: RuleCause | undefined;
  /** Devices that reported the notification delivered, and opened. */
  readonly delivered: number;
  readonly opened: number;
  readonly reasons: readonly {
    readonly platform: Platform;
    readonly reason: string;
    readonly devices: number;
  }[];
}

/** A device's report about a notification; at most one per device and event. */
export interface Report {
  readonly event: 'delivery' | 'open';
  readonly publishId: PublishId;
  readonly deviceId: string;
  /** As the device claims: not verified. */
  readonly userId: string | undefined;
  /** By the device's clock. */
  readonly timestampSeconds: number;
  readonly appInBackground: boolean | undefined;
  readonly hasDisplayableContent: boolean | undefined;
  readonly hasData: boolean | undefined;
}
