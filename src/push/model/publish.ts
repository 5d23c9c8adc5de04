import type { Branded } from '../../runtime/branded.ts';
import type { Platform } from './device.ts';

/** One accepted publish, for example `pubid-0b8e7c9c-…`. */
export type PublishId = Branded<'PublishId'>;

/** Whom a publish is for: devices subscribed to any of the interests, or of any of the users. No doubles. */
export type PublishTarget =
  | { readonly kind: 'interests'; readonly names: readonly string[] }
  | { readonly kind: 'users'; readonly names: readonly string[] };

/** A publish whose body was read and found right. */
export interface PublishRequest {
  readonly target: PublishTarget;
  /** The platforms that it has a payload for. One at least. */
  readonly platforms: readonly Platform[];
  readonly webhookUrl: string | undefined;
  /** When it is to go out; `undefined`: at once. Milliseconds. */
  readonly sendAtMs: number | undefined;
  /** What is kept of the body, JSON text: payloads are read from it again where they are sent. */
  readonly body: string;
}

/** A publish on its way into the store. */
export interface NewPublish extends PublishRequest {
  readonly id: PublishId;
  readonly instance: number;
  readonly createdAtMs: number;
  /** With it, the same request is accepted once. */
  readonly idempotency: Idempotency | undefined;
  /** Accepted devices that the instance may have, or 0: with more, the publish is refused. */
  readonly devicesMax: number;
  /** Bytes that the bodies of the instance's unfinished publishes may have, or 0: with more, the publish is refused. */
  readonly pendingBytesMax: number;
}

export interface Idempotency {
  readonly key: string;
  /** Equal for requests that say the same. */
  readonly fingerprint: string;
  readonly expiresAtMs: number;
}

export type Acceptance =
  /** It is stored: it survives a crash from here on. `id` is that of the first where this is a repetition. */
  | { readonly result: 'accepted'; readonly id: PublishId }
  /** Another request had the same key. */
  | { readonly result: 'key-taken' }
  /** `devices`: those that a gateway has accepted. Others are no reason to refuse: anybody can register them. */
  | { readonly result: 'over-plan'; readonly devices: number }
  | { readonly result: 'too-much-pending' };

export type PublishState = 'scheduled' | 'planning' | 'delivering' | 'finished' | 'cancelled';

/** Devices by what has become of the notification for them. */
export interface PlatformCounts {
  readonly planned: number;
  readonly accepted: number;
  readonly retrying: number;
  readonly failed: number;
  readonly pruned: number;
  readonly expired: number;
  readonly cancelled: number;
}

/** What has become of a publish. */
export interface PublishStatus {
  readonly id: PublishId;
  readonly state: PublishState;
  readonly createdAtMs: number;
  /** `undefined`: at once. */
  readonly sendAtMs: number | undefined;
  readonly platforms: Readonly<Record<Platform, PlatformCounts>>;
  /** Devices that reported it delivered, and opened. */
  readonly delivered: number;
  readonly opened: number;
  readonly reasons: readonly {
    readonly platform: Platform;
    readonly reason: string;
    readonly devices: number;
  }[];
}

/** What a device reports of a notification; each once for a device. */
export interface Report {
  readonly event: 'delivery' | 'open';
  readonly publishId: PublishId;
  readonly deviceId: string;
  /** As the device says; nobody has checked it. */
  readonly userId: string | undefined;
  /** The device's clock, seconds. */
  readonly timestampSeconds: number;
  readonly appInBackground: boolean | undefined;
  readonly hasDisplayableContent: boolean | undefined;
  readonly hasData: boolean | undefined;
}
