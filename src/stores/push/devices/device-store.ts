import type {
  DeviceInterest,
  DeviceKey,
  DeviceStore,
  InterestRange,
  InterestRefusal,
  InterestSet,
  MetadataChange,
  NewInterest,
  NewInterests,
  NewRegistration,
  Registered,
  RegisterRefusal,
  SetUserResult,
  TokenChange,
  UserChange,
} from '../../../push/device-store.ts';
import type { Device, Platform } from '../../../push/model/device.ts';
import { StoreLost } from '../../../push/store-faults.ts';
import type { Database } from '../../database/database.ts';
import type { BigInteger } from '../../database/rows.ts';
import { requireInstance } from '../../tenants/instance-presence.ts';
import { endWaiting } from '../jobs/paused-devices.ts';
import {
  afterRemoval,
  type DeletedRow,
  type DeviceChange,
  type DeviceLock,
  type DeviceRow,
  lockDevice,
  removeDevices,
} from './device-rows.ts';
import { count } from './instance-counts.ts';
import { addInterest, compareInterests, replaceInterests } from './interest-rows.ts';
import { isHostFull } from './open-hosts.ts';
import { forgetUserPreferences } from './preferences.ts';
import { isFull, register } from './register-device.ts';
import { childrenOf, surplusOf } from './surplus-devices.ts';

interface ShownRow {
  readonly platform: Platform;
  readonly user_id: string | null;
  readonly metadata: string;
}

interface LockedDevice extends DeviceKey {
  readonly lock: DeviceLock;
}

/** Devices in the store's tables. Several servers may use one store. */
export class StoredDevices implements DeviceStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async register(registration: NewRegistration): Promise<Registered | RegisterRefusal> {
    const { instance, device, devicesMax = 0 } = registration;
    // Repeated attempts at a full instance start no transaction.
    if (devicesMax > 0 && (await isFull(this.database.read, instance, device, devicesMax))) {
      return 'full';
    }
    const result = await this.database.write(
      (sql, later) => register({ sql, later, instance }, registration),
      instance,
    );
    if (result === 'no-instance') throw new StoreLost('the store has lost the instance');
    if (typeof result === 'string') return result;
    const { id, number, isNew } = result;
    if (isNew && registration.interests === undefined) return { id, interests: [], isNew };
    // Read after the commit, which other changes wait for.
    const rows: { interest: string }[] = await this.database.read`
      SELECT interest FROM device_interests WHERE device = ${number} ORDER BY interest`;
    return { id, interests: rows.map(({ interest }) => interest), isNew };
  }

  async get({ instance, id }: DeviceKey): Promise<Device | undefined> {
    const [row]: ShownRow[] = await this.database.read`
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

  async delete(key: DeviceKey): Promise<number> {
    const deleted = await this.change({ ...key, lock: 'unchanged' }, async (change, device) => {
      const children = device.platform === 'apns' ? await childrenOf(change, device) : [];
      return await removeDevices(change, [device.number, ...children]);
    });
    return deleted?.done ?? 0;
  }

  async setMetadata(change: MetadataChange): Promise<boolean> {
    const { instance, id, metadata, acceptLanguage = null, nowMs } = change;
    const text = JSON.stringify(metadata);
    const device = { instance, id, lock: 'unchanged' } as const;
    const set = await this.change(device, async ({ sql }, { number }) => {
      await sql`UPDATE devices
        SET metadata = ${text}, seen_at = ${nowMs},
          accept_language = COALESCE(${acceptLanguage}, accept_language)
        WHERE number = ${number}`;
    });
    return set !== undefined;
  }

  async setToken(wanted: TokenChange): Promise<boolean | 'host-full'> {
    const { instance, id, token, identity, openHost, nowMs } = wanted;
    const set = await this.change({ instance, id, lock: 'unchanged' }, async (change, device) => {
      const { sql, later } = change;
      const { number } = device;
      if (device.identity === identity) {
        // A browser may have other keys at the same endpoint.
        await sql`
          UPDATE devices SET token = ${token}, seen_at = ${nowMs} WHERE number = ${number}`;
        return true;
      }
      const replaced: DeletedRow[] = await sql`
        DELETE FROM devices
        WHERE instance = ${instance} AND token_identity = ${identity} AND number <> ${number}
        RETURNING number, accepted_at`;
      await afterRemoval(change, replaced);
      if (replaced.length === 0 && (await isHostFull(change, wanted))) return 'host-full';
      // The new token has not been accepted yet.
      await sql`
        UPDATE devices
        SET token = ${token}, token_identity = ${identity}, seen_at = ${nowMs}, accepted_at = NULL,
          open_host = ${openHost ?? null}, paused_until = NULL, failures = 0, failing_since = NULL
        WHERE number = ${number}`;
      await endWaiting(sql, number, nowMs);
      if (device.isAccepted) count(later, { instance, accepted: -1 });
      return true;
    });
    return set === undefined ? false : set.done;
  }

  async setUser(user: UserChange): Promise<SetUserResult> {
    const { instance, id, nowMs } = user;
    const result = await this.change(
      { instance, id, lock: 'unchanged' },
      async (change, device) => {
        if (device.userId !== undefined && device.userId !== user.userId) return 'other-user';
        const surplus = device.userId === undefined ? await surplusOf(change, device, user) : [];
        if (surplus === 'full') return 'full';
        await removeDevices(change, surplus);
        await change.sql`UPDATE devices SET user_id = ${user.userId}, seen_at = ${nowMs}
        WHERE number = ${device.number}`;
        return 'set';
      },
    );
    return result?.done ?? 'no-device';
  }

  async interests(
    range: InterestRange,
  ): Promise<{ readonly interests: readonly string[]; readonly more: boolean } | undefined> {
    const { after, limit } = range;
    const device = await this.numberOf(range);
    if (device === undefined) return undefined;
    const rows: { interest: string }[] = await this.database.read`
      SELECT interest FROM device_interests
      WHERE device = ${device} AND interest > ${after}
      ORDER BY interest LIMIT ${limit + 1}`;
    return {
      interests: rows.slice(0, limit).map(({ interest }) => interest),
      more: rows.length > limit,
    };
  }

  async interestsToChange(wanted: InterestSet): Promise<number | undefined> {
    const device = await this.numberOf(wanted);
    if (device === undefined) return undefined;
    const { added, removed } = await compareInterests(this.database.read, device, wanted.interests);
    return added.length + removed.length;
  }

  async hasInterest(one: DeviceInterest): Promise<boolean | undefined> {
    const device = await this.numberOf(one);
    if (device === undefined) return undefined;
    const found: unknown[] = await this.database.read`
      SELECT 1 FROM device_interests
      WHERE instance = ${one.instance} AND interest = ${one.interest} AND device = ${device}`;
    return found.length > 0;
  }

  async setInterests(wanted: NewInterests): Promise<'set' | InterestRefusal> {
    const result = await this.change({ ...wanted, lock: 'present' }, (change, { number }) =>
      replaceInterests(change, number, wanted),
    );
    return result?.done ?? 'no-device';
  }

  async addInterest(added: NewInterest): Promise<'added' | 'full' | InterestRefusal> {
    const result = await this.change({ ...added, lock: 'present' }, (change, { number }) =>
      addInterest(change, number, added),
    );
    return result?.done ?? 'no-device';
  }

  async removeInterest({ instance, id, interest }: DeviceInterest): Promise<boolean> {
    const device = { instance, id, lock: 'present' } as const;
    const removed = await this.change(device, async ({ sql, later }, { number }) => {
      const deleted = await sql`DELETE FROM device_interests
        WHERE instance = ${instance} AND interest = ${interest} AND device = ${number}`;
      count(later, { instance, interests: -deleted.count });
    });
    return removed !== undefined;
  }

  async deleteUser(instance: number, userId: string): Promise<number> {
    const devices = await this.database.write(async (sql, later) => {
      const deleted: DeletedRow[] = await sql`
        DELETE FROM devices WHERE instance = ${instance} AND user_id = ${userId}
        RETURNING number, accepted_at`;
      await afterRemoval({ sql, later, instance }, deleted);
      await forgetUserPreferences(sql, { instance, userId });
      return deleted.length;
    }, instance);
    if (devices === 0) await requireInstance(this.database.read, instance);
    return devices;
  }

  /** The number of a device; `undefined`: there is no such device. */
  private async numberOf({ instance, id }: DeviceKey): Promise<number | undefined> {
    const { read } = this.database;
    const [device]: { number: BigInteger }[] = await read`
      SELECT number FROM devices WHERE id = ${id} AND instance = ${instance}`;
    if (device === undefined) await requireInstance(read, instance);
    return device && Number(device.number);
  }

  /** Locks and changes a device; `undefined`: there is no such device. */
  private async change<T>(
    { instance, id, lock }: LockedDevice,
    change: (change: DeviceChange, device: DeviceRow) => Promise<T>,
  ): Promise<{ readonly done: T } | undefined> {
    const { database } = this;
    const result = await database.write(async (sql, later) => {
      const context = { sql, later, instance };
      const device = await lockDevice(context, id, lock);
      return device && { done: await change(context, device) };
    }, instance);
    if (result === undefined) await requireInstance(database.read, instance);
    return result;
  }
}
