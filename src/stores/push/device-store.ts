import type { TransactionSQL } from 'bun';
import type {
  Device,
  DeviceId,
  DeviceMetadata,
  DeviceToken,
  NewDevice,
  Platform,
} from '../../push/device.ts';
import {
  type DeviceStore,
  type SetUserResult,
  StoreLost,
  type UserOfDevice,
} from '../../push/ports.ts';
import type { Database } from '../database.ts';
import { exclusively } from '../dialect.ts';
import type { Later } from '../write-queue.ts';
import {
  afterRemoval,
  type BigInteger,
  countAdded,
  type DeviceRow,
  type Hold,
  heldDevice,
} from './device-rows.ts';
import { requireInstance } from './instance-presence.ts';
import { addInterest, replaceInterests } from './interest-rows.ts';

interface ToldRow {
  readonly platform: Platform;
  readonly user_id: string | null;
  readonly metadata: string;
}

/** A change of one device. */
type DeviceChange<T> = (sql: TransactionSQL, device: DeviceRow, later: Later) => Promise<T>;

/** The devices in the store's tables. Several servers may use one store. */
export class StoredDevices implements DeviceStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * `previousIds` takes no statement of its own: each device has a token, and the one that holds this token
   * is replaced whatever its id.
   */
  async register(instance: number, device: NewDevice, nowMs: number): Promise<void> {
    const registered = await this.database.write(async (sql, later) => {
      for (;;) {
        const [found]: { holder: BigInteger | null }[] = await sql`
          SELECT devices.number AS holder FROM instance_numbers
          LEFT JOIN devices ON devices.instance = instance_numbers.number
            AND devices.token_identity = ${device.identity}
          WHERE instance_numbers.number = ${instance} AND instance_numbers.id IS NOT NULL`;
        if (found === undefined) return false;
        if (found.holder !== null) {
          const replaced: { number: BigInteger }[] = await sql`
            DELETE FROM devices WHERE number = ${found.holder} RETURNING number`;
          await afterRemoval(sql, later, instance, replaced);
        }
        if (await inserted(sql, instance, device, nowMs)) {
          countAdded(later, instance, 1);
          return true;
        }
        // Another server has registered the same token in between: its device is replaced now.
      }
    }, instance);
    if (!registered) throw new StoreLost('the store has lost the instance');
  }

  async get(instance: number, id: DeviceId): Promise<Device | undefined> {
    const [row]: ToldRow[] = await this.database.read`
      SELECT platform, user_id, metadata FROM devices WHERE id = ${id} AND instance = ${instance}`;
    if (row === undefined) {
      await requireInstance(this.database.read, instance);
      return undefined;
    }
    return {
      id,
      platform: row.platform,
      userId: row.user_id ?? undefined,
      metadata: JSON.parse(row.metadata),
    };
  }

  async delete(instance: number, id: DeviceId): Promise<void> {
    await this.change(instance, id, 'unchanged', async (sql, { number }, later) => {
      const deleted: { number: BigInteger }[] = await sql`
        DELETE FROM devices WHERE number = ${number} RETURNING number`;
      await afterRemoval(sql, later, instance, deleted);
    });
  }

  async setMetadata(
    instance: number,
    id: DeviceId,
    metadata: DeviceMetadata,
    nowMs: number,
  ): Promise<boolean> {
    const text = JSON.stringify(metadata);
    const set = await this.change(instance, id, 'unchanged', async (sql, { number }) => {
      await sql`UPDATE devices SET metadata = ${text}, seen_at = ${nowMs} WHERE number = ${number}`;
      return true;
    });
    return set ?? false;
  }

  async setToken(
    instance: number,
    id: DeviceId,
    { token, identity }: DeviceToken,
    nowMs: number,
  ): Promise<boolean> {
    const set = await this.change(instance, id, 'unchanged', async (sql, { number }, later) => {
      const replaced: { number: BigInteger }[] = await sql`
        DELETE FROM devices
        WHERE instance = ${instance} AND token_identity = ${identity} AND number <> ${number}
        RETURNING number`;
      await afterRemoval(sql, later, instance, replaced);
      await sql`
        UPDATE devices SET token = ${token}, token_identity = ${identity}, seen_at = ${nowMs}
        WHERE number = ${number}`;
      return true;
    });
    return set ?? false;
  }

  async setUser(
    instance: number,
    id: DeviceId,
    user: UserOfDevice,
    nowMs: number,
  ): Promise<SetUserResult> {
    const result = await this.change(instance, id, 'unchanged', async (sql, device, later) => {
      if (device.userId !== undefined && device.userId !== user.userId) return 'other-user';
      const surplus =
        device.userId === undefined ? await this.surplus(sql, instance, device, user) : [];
      if (surplus.length > 0 && !user.replaceOldest) return 'full';
      for (const { number } of surplus) {
        const deleted: { number: BigInteger }[] = await sql`
          DELETE FROM devices WHERE number = ${number} RETURNING number`;
        await afterRemoval(sql, later, instance, deleted);
      }
      await sql`UPDATE devices SET user_id = ${user.userId}, seen_at = ${nowMs}
        WHERE number = ${device.number}`;
      return 'set';
    });
    return result ?? 'no-device';
  }

  async interests(
    instance: number,
    id: DeviceId,
    after: string,
    most: number,
  ): Promise<{ readonly interests: readonly string[]; readonly more: boolean } | undefined> {
    const { read } = this.database;
    const [device]: { number: BigInteger }[] = await read`
      SELECT number FROM devices WHERE id = ${id} AND instance = ${instance}`;
    if (device === undefined) {
      await requireInstance(read, instance);
      return undefined;
    }
    const rows: { interest: string }[] = await read`
      SELECT interest FROM device_interests
      WHERE device = ${device.number} AND interest > ${after}
      ORDER BY interest LIMIT ${most + 1}`;
    return {
      interests: rows.slice(0, most).map(({ interest }) => interest),
      more: rows.length > most,
    };
  }

  async setInterests(
    instance: number,
    id: DeviceId,
    interests: readonly string[],
  ): Promise<boolean> {
    const { dialect } = this.database;
    const set = await this.change(instance, id, 'present', async (sql, { number }) => {
      await replaceInterests(dialect, sql, instance, number, interests);
      return true;
    });
    return set ?? false;
  }

  async addInterest(
    instance: number,
    id: DeviceId,
    interest: string,
    max: number,
  ): Promise<'added' | 'full' | 'no-device'> {
    const { dialect } = this.database;
    const result = await this.change(instance, id, 'present', (sql, { number }) =>
      addInterest(dialect, sql, { instance, device: number, interest }, max),
    );
    return result ?? 'no-device';
  }

  async removeInterest(instance: number, id: DeviceId, interest: string): Promise<boolean> {
    const removed = await this.change(instance, id, 'present', async (sql, { number }) => {
      await sql`DELETE FROM device_interests
        WHERE instance = ${instance} AND interest = ${interest} AND device = ${number}`;
      return true;
    });
    return removed ?? false;
  }

  async deleteUser(instance: number, userId: string): Promise<number> {
    const devices = await this.database.write(async (sql, later) => {
      const deleted: { number: BigInteger }[] = await sql`
        DELETE FROM devices WHERE instance = ${instance} AND user_id = ${userId} RETURNING number`;
      await afterRemoval(sql, later, instance, deleted);
      return deleted.length;
    }, instance);
    if (devices === 0) await requireInstance(this.database.read, instance);
    return devices;
  }

  /** The user's devices that must go before this one can come, the one heard of longest ago first. */
  private async surplus(
    sql: TransactionSQL,
    instance: number,
    { platform }: DeviceRow,
    { userId, max }: UserOfDevice,
  ): Promise<readonly { readonly number: BigInteger }[]> {
    await exclusively(this.database.dialect, sql, `devices of ${instance} ${userId}`);
    const devices: { number: BigInteger }[] = await sql`
      SELECT number FROM devices
      WHERE instance = ${instance} AND user_id = ${userId} AND platform = ${platform}
      ORDER BY seen_at, number`;
    return devices.slice(0, Math.max(0, devices.length + 1 - max));
  }

  /** `undefined`: there is no such device. */
  private async change<T>(
    instance: number,
    id: DeviceId,
    hold: Hold,
    change: DeviceChange<T>,
  ): Promise<T | undefined> {
    const { database } = this;
    const result = await database.write(async (sql, later) => {
      const device = await heldDevice(database.dialect, sql, instance, id, hold);
      return device && { done: await change(sql, device, later) };
    }, instance);
    if (result === undefined) await requireInstance(database.read, instance);
    return result?.done;
  }
}

/** `false`: a device that this transaction could not see holds the token. */
async function inserted(
  sql: TransactionSQL,
  instance: number,
  device: NewDevice,
  nowMs: number,
): Promise<boolean> {
  const { count } = await sql`
    INSERT INTO devices
      (instance, id, platform, token_identity, registered_at, seen_at, bundle_id, token, metadata, sdk)
    VALUES (${instance}, ${device.id}, ${device.platform}, ${device.identity}, ${nowMs}, ${nowMs},
      ${device.bundleId ?? null}, ${device.token}, ${JSON.stringify(device.metadata)},
      ${device.client})
    ON CONFLICT (instance, token_identity) DO NOTHING`;
  return count > 0;
}
