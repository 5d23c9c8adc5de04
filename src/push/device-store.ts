import type { Device, DeviceId, DeviceMetadata, DeviceToken, NewDevice } from './model/device.ts';

/**
 * Stores the devices of all instances. A change is durable when its promise settles. Each method rejects if the store
 * cannot be used, and with `StoreLost`, instead of "no such device", if the store has lost the instance itself.
 * `instance` is always the number of an instance.
 */
export interface DeviceStore {
  /**
   * Stores a device, or finds the instance's device with exactly this token: it keeps its id, interests and user, and
   * takes over what the registration says about the app and the SDK. With another bundle id it is untrusted until a
   * gateway accepts it. A device with the same identity but another token is deleted in the same commit, so that no app
   * gets a notification twice. So are the oldest of `FURTHER_TOKENS_MAX` further tokens of its user or its parent, if it is
   * one more. What the registration says of interests and the user is set in the same commit; a refusal leaves everything
   * as it was.
   */
  register(registration: NewRegistration): Promise<Registered | RegisterRefusal>;
  get(device: DeviceKey): Promise<Device | undefined>;
  /** Deletes a device, and those whose parent it is. Returns how many there were. */
  delete(device: DeviceKey): Promise<number>;
  /** `false` here and below: there is no such device. */
  setMetadata(change: MetadataChange): Promise<boolean>;
  /**
   * Replaces the token of the device. With another identity, the device is untrusted until a gateway accepts it, and
   * another device that has it is deleted in the same commit.
   */
  setToken(change: TokenChange): Promise<boolean | 'host-full'>;
  setUser(change: UserChange): Promise<SetUserResult>;
  /** A part of a device's interests, in the order of their UTF-8 bytes. */
  interests(
    range: InterestRange,
  ): Promise<{ readonly interests: readonly string[]; readonly more: boolean } | undefined>;
  /** The number of rows that `setInterests` would add and remove; `undefined`: there is no such device. */
  interestsToChange(wanted: InterestSet): Promise<number | undefined>;
  /** `undefined`: there is no such device. */
  hasInterest(one: DeviceInterest): Promise<boolean | undefined>;
  /** Replaces the device's interests. Writes only the difference. */
  setInterests(wanted: NewInterests): Promise<'set' | InterestRefusal>;
  /** `'full'`: the device has `max` other interests. */
  addInterest(added: NewInterest): Promise<'added' | 'full' | InterestRefusal>;
  removeInterest(one: DeviceInterest): Promise<boolean>;
  /** Deletes the devices and the preferences of a user. Returns how many devices there were. */
  deleteUser(instance: number, userId: string): Promise<number>;
}

/**
 * `'full'`: the instance has `devicesMax` devices, none of them with this identity. `'interests-full'`: the devices of the
 * instance would have more than `interests.instanceMax` interests. The others as in `SetUserResult`.
 */
export type RegisterRefusal = 'full' | 'host-full' | 'interests-full' | 'other-user' | 'user-full';

/** What a registration has made or found. */
export interface Registered {
  readonly id: DeviceId;
  /** The interests of the device, in the order of their UTF-8 bytes. */
  readonly interests: readonly string[];
  /** Whether the instance had no device with this token. */
  readonly isNew: boolean;
}

export interface DeviceKey {
  readonly instance: number;
  readonly id: DeviceId;
}

export interface NewRegistration {
  readonly instance: number;
  readonly device: NewDevice;
  readonly nowMs: number;
  /** Limit of the instance; 0, the default: none. */
  readonly devicesMax?: number;
  /** The interests of the device from now on; `undefined`: as before. */
  readonly interests?: (InstanceLimit & { readonly names: readonly string[] }) | undefined;
  /** The user of the device from now on; `undefined`: as before. */
  readonly user?: NewUser | undefined;
}

export interface MetadataChange extends DeviceKey {
  readonly metadata: DeviceMetadata;
  /** The language by the headers of the request; `undefined` keeps the one before. */
  readonly acceptLanguage?: string | undefined;
  readonly nowMs: number;
}

export interface TokenChange extends DeviceKey, DeviceToken {
  readonly nowMs: number;
}

export interface NewUser {
  readonly userId: string;
  /** The limit of a user's devices of one platform. Further tokens have a limit of their own, `FURTHER_TOKENS_MAX`. */
  readonly max: number;
  /** At the limit, deletes the user's device that has been inactive longest. That of further tokens always does. */
  readonly replaceOldest: boolean;
}

export interface UserChange extends DeviceKey, NewUser {
  readonly nowMs: number;
}

export interface InterestRange extends DeviceKey {
  /** Starts after this interest; empty: with the first. */
  readonly after: string;
  readonly limit: number;
}

export interface DeviceInterest extends DeviceKey {
  readonly interest: string;
}

export interface InterestSet extends DeviceKey {
  readonly interests: readonly string[];
}

interface InstanceLimit {
  /** Limit of all devices of the instance together; 0, the default: none. */
  readonly instanceMax?: number;
}

export interface NewInterests extends InterestSet, InstanceLimit {}

export interface NewInterest extends DeviceInterest, InstanceLimit {
  /** Limit of the device. */
  readonly max: number;
}

/**
 * `'instance-full'`: the devices of the instance would have more than `instanceMax` interests together.
 * Other changes in the same commit may exceed it.
 */
export type InterestRefusal = 'no-device' | 'instance-full';

/** `'other-user'`: the device belongs to another user. `'full'`: the user has `max` devices. */
export type SetUserResult = 'set' | 'no-device' | 'other-user' | 'full';
