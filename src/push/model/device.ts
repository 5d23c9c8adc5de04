import type { Branded } from '../../runtime/branded.ts';

/** How a device is reached. */
export type Platform = 'apns' | 'fcm' | 'web';

export const platforms: readonly Platform[] = ['apns', 'fcm', 'web'];

/** One device, for example `web-0b8e7c9c-…`. Whoever knows it may change the device: it is a secret. */
export type DeviceId = Branded<'DeviceId'>;

/** What a device tells of itself; `sdkVersion`, `iosVersion`, `macosVersion`, `androidVersion`. */
export type DeviceMetadata = Readonly<Record<string, string>>;

/** What a gateway needs to reach a device. */
export interface DeviceToken {
  /** As the gateway takes it; a web token is the JSON of a subscription. */
  readonly token: string;
  /** Equal for two registrations exactly where they would reach the same app on the same device. At most 64 characters long. */
  readonly identity: string;
}

/** A device that registers. */
export interface NewDevice extends DeviceToken {
  readonly id: DeviceId;
  readonly platform: Platform;
  /** Of an app on apns; becomes the topic. */
  readonly bundleId: string | undefined;
  readonly metadata: DeviceMetadata;
  /** Which SDK and browser registered it, for people who look for a fault. At most 300 characters. */
  readonly client: string;
  /** Devices of the same instance that this one replaces, where they hold the same token. */
  readonly previousIds: readonly DeviceId[];
}

/** A registered device, as it is told of itself. */
export interface Device {
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly userId: string | undefined;
  readonly metadata: DeviceMetadata;
}

/** A device that a notification is for, with all that its gateway needs. */
export interface Recipient {
  /** Its place in the device order. */
  readonly number: number;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly token: string;
  readonly bundleId: string | undefined;
  readonly userId: string | undefined;
  readonly registeredAtMs: number;
  /**
   * Whether a gateway has accepted a notification for it before, with its current token. Anybody may register a device,
   * so what a gateway answers for one that was never accepted says nothing about others.
   */
  readonly acceptedBefore: boolean;
}
