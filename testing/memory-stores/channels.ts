import type { StoredChannel } from '../../src/push/broadcast-channels.ts';
import { CHANNELS_PER_INSTANCE, type ChannelStore } from '../../src/push/channel-store.ts';
import type { DeviceKey } from '../../src/push/device-store.ts';
import { bareToken, isChannel } from '../../src/push/model/token-kind.ts';
import type { MemoryDevices } from './devices.ts';

/** The broadcast channels among devices in memory. */
export class MemoryChannels implements ChannelStore {
  private readonly devices: MemoryDevices;

  constructor(devices: MemoryDevices) {
    this.devices = devices;
  }

  async list(instance: number): Promise<readonly StoredChannel[]> {
    return this.all(instance).slice(0, CHANNELS_PER_INSTANCE);
  }

  async find({ instance, id }: DeviceKey): Promise<StoredChannel | undefined> {
    return this.all(instance).find((channel) => channel.id === id);
  }

  async count(instance: number): Promise<number> {
    return this.all(instance).length;
  }

  private all(instance: number): readonly StoredChannel[] {
    return this.devices.of(instance).flatMap(({ registered, token, interests }) => {
      const { id, kind, bundleId = '' } = registered;
      if (!isChannel(kind)) return [];
      const storage = kind === 'channel' ? 'none' : 'latest';
      const channel = bareToken(token.token);
      return [{ id, channel, bundleId, storage, interests: [...interests].sort() }];
    });
  }
}
