import type { StoredChannel } from './broadcast-channels.ts';
import type { DeviceKey } from './device-store.ts';

/** Reads broadcast channels, which are devices. `DeviceStore` makes and deletes them. */
export interface ChannelStore {
  /** Up to `CHANNELS_PER_INSTANCE` channels of an instance, the oldest first. */
  list(instance: number): Promise<readonly StoredChannel[]>;
  /** `undefined`: there is no such channel. */
  find(key: DeviceKey): Promise<StoredChannel | undefined>;
  /** How many channels an instance has. */
  count(instance: number): Promise<number>;
}

/** The limit of an instance's channels. Apple allows 10,000 of an app. */
export const CHANNELS_PER_INSTANCE = 1_000;
