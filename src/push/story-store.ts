import type { DeviceStory, UsersReached } from './model/delivery.ts';
import type { DeviceId } from './model/device.ts';
import type { PublishId } from './model/publish.ts';

/** Reads what happened to the devices and users of a publish. */
export interface StoryStore {
  /** Why a device did or did not get a publish; `undefined` if either is unknown. */
  story(of: StoryKey): Promise<DeviceStory | undefined>;
  usersReached(publish: number): Promise<UsersReached>;
}

export interface StoryKey {
  readonly instance: number;
  readonly publish: PublishId;
  readonly device: DeviceId;
}
