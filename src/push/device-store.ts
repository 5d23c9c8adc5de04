import type { Device, DeviceId, DeviceMetadata, DeviceToken, NewDevice } from './model/device.ts';

/**
 * Stores the devices of all instances. A change is durable when its promise settles. Each method rejects if the store
 * cannot be used, and with `StoreLost`, instead of "no such device", if the store has lost the instance itself.
 * `instance` is always the number of an instance.
 */
export interface DeviceStore {
  /**
   * Stores a device. The same commit deletes the instance's device with the same token, so that no app gets a
   * notification twice, and those of `previousIds` that have this token or none. `'full'`: the instance has `devicesMax`
   * devices, none of them with this token. 0: no limit.
   */
  register(
    instance: number,
    device: NewDevice,
    nowMs: number,
    devicesMax?: number,
  ): Promise<'registered' | 'full'>;
  get(instance: number, id: DeviceId): Promise<Device | undefined>;
  /** Settles also if there is no such device. */
  delete(instance: number, id: DeviceId): Promise<void>;
  /** `false` here and below: there is no such device. */
  setMetadata(
    instance: number,
    id: DeviceId,
    metadata: DeviceMetadata,
    nowMs: number,
  ): Promise<boolean>;
  /**
   * Deletes the device that had this token. The device counts as never accepted by a gateway until its new token is.
   */
  setToken(instance: number, id: DeviceId, token: DeviceToken, nowMs: number): Promise<boolean>;
  setUser(
    instance: number,
    id: DeviceId,
    user: UserOfDevice,
    nowMs: number,
  ): Promise<SetUserResult>;
  /** The interests of a device after `after`, at most `limit`, in the order of their UTF-8 bytes. */
  interests(
    instance: number,
    id: DeviceId,
    after: string,
    limit: number,
  ): Promise<{ readonly interests: readonly string[]; readonly more: boolean } | undefined>;
  /** The number of rows that `setInterests` would add and remove; `undefined`: there is no such device. */
  interestsToChange(
    instance: number,
    id: DeviceId,
    interests: readonly string[],
  ): Promise<number | undefined>;
  /** `undefined`: there is no such device. */
  hasInterest(instance: number, id: DeviceId, interest: string): Promise<boolean | undefined>;
  /** Replaces the device's interests. Writes only the difference. */
  setInterests(
    instance: number,
    id: DeviceId,
    interests: readonly string[],
    instanceMax?: number,
  ): Promise<'set' | InterestRefusal>;
  /** `'full'`: the device has `max` other interests. */
  addInterest(
    instance: number,
    id: DeviceId,
    interest: string,
    max: number,
    instanceMax?: number,
  ): Promise<'added' | 'full' | InterestRefusal>;
  removeInterest(instance: number, id: DeviceId, interest: string): Promise<boolean>;
  /** Deletes the devices of a user. Returns how many there were. */
  deleteUser(instance: number, userId: string): Promise<number>;
}

/**
 * `'instance-full'`: the devices of the instance would have more than `instanceMax` interests together; 0: no limit.
 * Other changes in the same commit may exceed it.
 */
export type InterestRefusal = 'no-device' | 'instance-full';

export interface UserOfDevice {
  readonly userId: string;
  /** The most devices of one platform that a user may have. */
  readonly max: number;
  /** At the limit, deletes the user's device that has been inactive longest. */
  readonly replaceOldest: boolean;
}

/** `'other-user'`: the device belongs to another user. `'full'`: the user has `max` devices. */
export type SetUserResult = 'set' | 'no-device' | 'other-user' | 'full';
