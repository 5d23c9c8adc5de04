import type { DeviceKey } from './device-store.ts';
import type { DeviceId } from './model/device.ts';
import type { PreferenceChanges, Preferences } from './model/preferences.ts';

/**
 * Stores what is known of devices, and of users for all of their devices. A change is durable when its promise settles.
 * Methods reject as those of `DeviceStore` do.
 */
export interface PreferenceStore {
  /** The device's own preferences; `undefined`: there is no such device. */
  ofDevice(device: DeviceKey): Promise<Preferences | undefined>;
  /** `false`: there is no such device. */
  setOfDevice(change: DevicePreferences): Promise<boolean>;
  /** The device with a token; `undefined`: there is none. */
  deviceWithToken(token: TokenOfInstance): Promise<DeviceId | undefined>;
  /** A user need not have devices, here and below. */
  ofUser(user: UserOfInstance): Promise<Preferences>;
  setOfUser(change: UserPreferences): Promise<void>;
  forgetUser(user: UserOfInstance): Promise<void>;
}

export interface DevicePreferences extends DeviceKey {
  readonly changes: PreferenceChanges;
}

export interface TokenOfInstance {
  readonly instance: number;
  /** See `DeviceToken`. */
  readonly identity: string;
}

export interface UserOfInstance {
  readonly instance: number;
  readonly userId: string;
}

export interface UserPreferences extends UserOfInstance {
  readonly changes: PreferenceChanges;
}
