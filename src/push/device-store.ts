import type { Device, DeviceId, DeviceMetadata, DeviceToken, NewDevice } from './model/device.ts';

/**
 * Keeps the devices of all instances. What a method changed is durable when its promise settles. Each throws
 * where the store cannot be used, and `StoreLost` instead of saying "no such device" where the store has lost
 * the instance itself. `instance` is always an instance's number.
 */
export interface DeviceStore {
  /**
   * Keeps a device. Another one with the same token of the instance is replaced in the same commit: one app
   * on one device never gets a notification twice. So are those of `previousIds` that hold no token or this one.
   * `'full'`: the instance has `devicesMax` devices, and none with this token. 0: no limit.
   */
  register(
    instance: number,
    device: NewDevice,
    nowMs: number,
    devicesMax?: number,
  ): Promise<'registered' | 'full'>;
  get(instance: number, id: DeviceId): Promise<Device | undefined>;
  /** Settles as well where there is no such device. */
  delete(instance: number, id: DeviceId): Promise<void>;
  /** `false`: there is no such device. So in the other methods. */
  setMetadata(
    instance: number,
    id: DeviceId,
    metadata: DeviceMetadata,
    nowMs: number,
  ): Promise<boolean>;
  /**
   * Another device with that token is replaced by this one. No gateway has accepted a device's new token yet,
   * whatever became of the old one.
   */
  setToken(instance: number, id: DeviceId, token: DeviceToken, nowMs: number): Promise<boolean>;
  setUser(
    instance: number,
    id: DeviceId,
    user: UserOfDevice,
    nowMs: number,
  ): Promise<SetUserResult>;
  /** Of one device, in the order of their UTF-8 bytes, those that come after `after`; `more` where some are left. */
  interests(
    instance: number,
    id: DeviceId,
    after: string,
    most: number,
  ): Promise<{ readonly interests: readonly string[]; readonly more: boolean } | undefined>;
  /** How many rows `setInterests` would add and remove; `undefined`: there is no such device. */
  interestsToChange(
    instance: number,
    id: DeviceId,
    interests: readonly string[],
  ): Promise<number | undefined>;
  /** `undefined`: there is no such device. */
  hasInterest(instance: number, id: DeviceId, interest: string): Promise<boolean | undefined>;
  /** Makes these the device's interests, and writes only what differs. */
  setInterests(
    instance: number,
    id: DeviceId,
    interests: readonly string[],
    instanceMax?: number,
  ): Promise<'set' | InterestRefusal>;
  /** `'full'`: the device has `max` others already. */
  addInterest(
    instance: number,
    id: DeviceId,
    interest: string,
    max: number,
    instanceMax?: number,
  ): Promise<'added' | 'full' | InterestRefusal>;
  removeInterest(instance: number, id: DeviceId, interest: string): Promise<boolean>;
  /** Removes a user's devices. Settles as well where there is no such user; gives how many there were. */
  deleteUser(instance: number, userId: string): Promise<number>;
}

/**
 * `'instance-full'`: all devices of the instance together would have more than `instanceMax` interests; 0: no
 * limit. What is written in the same commit may come on top.
 */
export type InterestRefusal = 'no-device' | 'instance-full';

export interface UserOfDevice {
  readonly userId: string;
  /** Devices of one platform that a user may have. */
  readonly max: number;
  /** At the limit, removes the user's device that was heard of longest ago. */
  readonly replaceOldest: boolean;
}

/** `'other-user'`: the device belongs to somebody else. `'full'`: the user has as many devices as allowed. */
export type SetUserResult = 'set' | 'no-device' | 'other-user' | 'full';
