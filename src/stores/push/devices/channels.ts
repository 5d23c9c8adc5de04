import type { SQL } from 'bun';
import type { StoredChannel } from '../../../push/broadcast-channels.ts';
import { CHANNELS_PER_INSTANCE, type ChannelStore } from '../../../push/channel-store.ts';
import type { DeviceKey } from '../../../push/device-store.ts';
import type { DeviceId } from '../../../push/model/device.ts';
import { type BroadcastKind, bareToken, broadcastKinds } from '../../../push/model/token-kind.ts';
import type { Database } from '../../database/database.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { requireInstance } from '../../tenants/instance-presence.ts';

interface ChannelRow {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly kind: BroadcastKind;
  readonly token: string;
  readonly bundle_id: string | null;
}

/** Broadcast channels in the store's tables. */
export class StoredChannels implements ChannelStore {
  private readonly read: SQL;

  constructor({ read }: Pick<Database, 'read'>) {
    this.read = read;
  }

  async list(instance: number): Promise<readonly StoredChannel[]> {
    const rows: ChannelRow[] = await this.read`
      SELECT number, id, kind, token, bundle_id FROM devices
      WHERE instance = ${instance} AND kind IN ${this.read([...broadcastKinds])}
      ORDER BY number LIMIT ${CHANNELS_PER_INSTANCE}`;
    if (rows.length === 0) await requireInstance(this.read, instance);
    return await this.withInterests(rows);
  }

  async find({ instance, id }: DeviceKey): Promise<StoredChannel | undefined> {
    const rows: ChannelRow[] = await this.read`
      SELECT number, id, kind, token, bundle_id FROM devices
      WHERE id = ${id} AND instance = ${instance} AND kind IN ${this.read([...broadcastKinds])}`;
    if (rows.length === 0) await requireInstance(this.read, instance);
    const [channel] = await this.withInterests(rows);
    return channel;
  }

  async count(instance: number): Promise<number> {
    const [row]: { channels: BigInteger }[] = await this.read`
      SELECT COUNT(*) AS channels FROM devices
      WHERE instance = ${instance} AND kind IN ${this.read([...broadcastKinds])}`;
    return Number(row?.channels ?? 0);
  }

  private async withInterests(rows: readonly ChannelRow[]): Promise<readonly StoredChannel[]> {
    if (rows.length === 0) return [];
    const numbers = rows.map(({ number }) => Number(number));
    const interests: { device: BigInteger; interest: string }[] = await this.read`
      SELECT device, interest FROM device_interests WHERE ${isAmong(this.read, 'device', numbers)}
      ORDER BY interest`;
    const byDevice = Map.groupBy(interests, ({ device }) => Number(device));
    return rows.map(({ number, id, kind, token, bundle_id }) => ({
      id,
      channel: bareToken(token),
      bundleId: bundle_id ?? '',
      storage: kind === 'channel' ? 'none' : 'latest',
      interests: (byDevice.get(Number(number)) ?? []).map(({ interest }) => interest),
    }));
  }
}
