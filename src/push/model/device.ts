import type { Branded } from '../../runtime/branded.ts';
import type { DevicePause } from './device-pause.ts';
import type { Preferences } from './preferences.ts';
import type { DeviceKind } from './token-kind.ts';

export const platforms = ['apns', 'fcm', 'web'] as const;

/** The platform by which a device is reached. */
export type Platform = (typeof platforms)[number];

/** A value for each platform. */
export function byPlatform<Value>(make: (platform: Platform) => Value): Record<Platform, Value> {
  return { apns: make('apns'), fcm: make('fcm'), web: make('web') };
}

/** One device, for example `web-0b8e7c9c-…`. It is a secret: it authorises changes of the device. */
export type DeviceId = Branded<'DeviceId'>;

/** What a device reports about itself: `sdkVersion`, `iosVersion`, `macosVersion`, `androidVersion`. */
export type DeviceMetadata = Readonly<Record<string, string>>;

/** The address of a device at its gateway. */
export interface DeviceToken {
  /** In the gateway's form; for web, the JSON of a subscription. */
  readonly token: string;
  /** Equal for two registrations if and only if they reach the same app on the same device. At most 64 characters. */
  readonly identity: string;
  /** The host of a push service that the operator has not named. */
  readonly openHost?: string | undefined;
}

/** A registration of a device. */
export interface NewDevice extends DeviceToken {
  readonly id: DeviceId;
  readonly platform: Platform;
  /** The APNs topic; on other platforms `undefined`. */
  readonly bundleId: string | undefined;
  /** `undefined`: the app's ordinary token. */
  readonly kind?: DeviceKind | undefined;
  /** The identity of the app's ordinary token, when this one is to be deleted with it. */
  readonly parent?: string | undefined;
  readonly metadata: DeviceMetadata;
  /** The SDK and the browser or system, for troubleshooting. At most 300 characters. */
  readonly client: string;
  /** Its language, by the headers of the request. */
  readonly acceptLanguage?: string | undefined;
}

/** A registered device, as its client sees it. */
export interface Device {
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly userId: string | undefined;
  readonly metadata: DeviceMetadata;
}

/** A device that a notification is sent to, with all that its gateway needs. */
export interface Recipient {
  /** Defines the device order. */
  readonly number: number;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly token: string;
  readonly bundleId: string | undefined;
  /** `undefined`: an ordinary token. */
  readonly kind?: DeviceKind | undefined;
  readonly userId: string | undefined;
  /** When the device last registered, or changed its token, user or metadata. */
  readonly seenAtMs: number;
  /**
   * Whether its gateway has accepted a notification for its current token before. Anybody may register a device, so
   * answers for an untrusted one are no evidence about others.
   */
  readonly isTrusted: boolean;
  /** The pause of the device in the store, which may be over. */
  readonly pause?: DevicePause | undefined;
  /** Its own preferences, or else its user's. `undefined`: nothing is known. */
  readonly preferences?: Preferences | undefined;
}
