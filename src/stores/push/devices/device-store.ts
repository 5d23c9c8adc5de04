import type { SQL, TransactionSQL } from 'bun';
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
  SetUserResult,
  TokenChange,
  UserChange,
} from '../../../push/device-store.ts';
import type { Device, DeviceId, NewDevice, Platform } from '../../../push/model/device.ts';
import { StoreLost } from '../../../push/store-faults.ts';
import type { Database } from '../../database/database.ts';
import { exclusively, lockRows } from '../../database/dialect.ts';
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
} from './device-rows.ts';
import { count, readCounts } from './instance-counts.ts';
import { addInterest, compareInterests, replaceInterests } from './interest-rows.ts';
import { forgetUserPreferences } from './preferences.ts';

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

  async register(registration: NewRegistration): Promise<Registered | 'full'> {
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
    if (result === 'full') return 'full';
    if (result === 'registered') return { id: device.id, interests: [], isNew: true };
    const { id, number } = result;
    // Read after the commit, which other changes wait for.
    const rows: { interest: string }[] = await this.database.read`
      SELECT interest FROM device_interests WHERE device = ${number} ORDER BY interest`;
    return { id, interests: rows.map(({ interest }) => interest), isNew: false };
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

  async delete(key: DeviceKey): Promise<void> {
    await this.change({ ...key, lock: 'unchanged' }, (change, { number }) =>
      removeDevice(change, number),
    );
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

  async setToken({ instance, id, token, identity, nowMs }: TokenChange): Promise<boolean> {
    const set = await this.change({ instance, id, lock: 'unchanged' }, async (change, device) => {
      const { sql, later } = change;
      const { number } = device;
      if (device.identity === identity) {
        // A browser may have other keys at the same endpoint.
        await sql`
          UPDATE devices SET token = ${token}, seen_at = ${nowMs} WHERE number = ${number}`;
        return;
      }
      const replaced: DeletedRow[] = await sql`
        DELETE FROM devices
        WHERE instance = ${instance} AND token_identity = ${identity} AND number <> ${number}
        RETURNING number, accepted_at`;
      await afterRemoval(change, replaced);
      // The new token has not been accepted yet.
      await sql`
        UPDATE devices
        SET token = ${token}, token_identity = ${identity}, seen_at = ${nowMs}, accepted_at = NULL,
          paused_until = NULL, failures = 0, failing_since = NULL
        WHERE number = ${number}`;
      await endWaiting(sql, number, nowMs);
      if (device.isAccepted) count(later, { instance, accepted: -1 });
    });
    return set !== undefined;
  }

  async setUser(user: UserChange): Promise<SetUserResult> {
    const { instance, id, nowMs } = user;
    const result = await this.change(
      { instance, id, lock: 'unchanged' },
      async (change, device) => {
        if (device.userId !== undefined && device.userId !== user.userId) return 'other-user';
        const surplus =
          device.userId === undefined ? await surplusOf(change, device.platform, user) : [];
        if (surplus.length > 0 && !user.replaceOldest) return 'full';
        for (const { number } of surplus) await removeDevice(change, number);
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

async function removeDevice(change: DeviceChange, number: BigInteger): Promise<void> {
  const deleted: DeletedRow[] = await change.sql`
    DELETE FROM devices WHERE number = ${number} RETURNING number, accepted_at`;
  await afterRemoval(change, deleted);
}

/** The user's devices that must be removed to make room for another one: those inactive longest. */
async function surplusOf(
  { sql, instance }: DeviceChange,
  platform: Platform,
  { userId, max }: UserChange,
): Promise<readonly { readonly number: BigInteger }[]> {
  await exclusively(sql, `devices of ${instance} ${userId}`);
  const devices: { number: BigInteger }[] = await sql`
    SELECT number FROM devices
    WHERE instance = ${instance} AND user_id = ${userId} AND platform = ${platform}
    ORDER BY seen_at, number`;
  return devices.slice(0, Math.max(0, devices.length + 1 - max));
}

/** With room for this many more devices, registrations need no lock: fewer come at the same time. */
const ROOM_WITHOUT_LOCK = 2000;

/** Devices that the changes of one commit have added so far: they are counted at its end. */
const addedInCommit = new WeakMap<TransactionSQL, Map<number, number>>();

/** Returns the device that had the token already, if there is one. */
async function register(
  change: DeviceChange,
  { device, nowMs, devicesMax = 0 }: NewRegistration,
): Promise<Holder | 'registered' | 'full' | 'no-instance'> {
  const { sql, later, instance } = change;
  const added = addedInCommit.get(sql) ?? new Map<number, number>();
  addedInCommit.set(sql, added);
  const addedBefore = added.get(instance) ?? 0;
  let hasLock = devicesMax === 0;
  for (;;) {
    const [found]: { holder: BigInteger | null; devices: BigInteger }[] = await sql`
      SELECT devices.number AS holder, instance_numbers.devices AS devices FROM instance_numbers
      LEFT JOIN devices ON devices.instance = instance_numbers.number
        AND devices.token_identity = ${device.identity}
      WHERE instance_numbers.number = ${instance} AND instance_numbers.id IS NOT NULL`;
    if (found === undefined) return 'no-instance';
    if (!hasLock && Number(found.devices) >= devicesMax - ROOM_WITHOUT_LOCK) {
      // Under the lock, the count includes devices of all other commits.
      await exclusively(sql, `devices of ${instance}`);
      hasLock = true;
      continue;
    }
    if (found.holder !== null) {
      const holder = await lockHolder(sql, found.holder);
      // It was removed in between.
      if (holder === undefined) continue;
      if (holder.token === device.token) {
        await registerAgain(change, holder, device, nowMs);
        return holder;
      }
      await removeDevice(change, holder.number);
    } else if (devicesMax > 0 && Number(found.devices) + addedBefore >= devicesMax) return 'full';
    if (await inserted(sql, instance, device, nowMs)) {
      count(later, { instance, devices: 1, isRequired: true });
      if (found.holder === null) added.set(instance, addedBefore + 1);
      return 'registered';
    }
    // Another server has registered the same token in between.
  }
}

/** The device that has a token. */
interface Holder {
  readonly id: DeviceId;
  readonly number: BigInteger;
  readonly token: string;
  readonly bundle_id: string | null;
  readonly accepted_at: BigInteger | null;
}

async function lockHolder(sql: TransactionSQL, number: BigInteger): Promise<Holder | undefined> {
  const [holder]: Holder[] = await sql`
    SELECT id, number, token, bundle_id, accepted_at FROM devices
    WHERE number = ${number} ${lockRows(sql, 'FOR NO KEY UPDATE')}`;
  return holder;
}

/** Updates what a device says about itself when it registers its token again, as iOS does at each launch. */
async function registerAgain(
  { sql, later, instance }: DeviceChange,
  { number, bundle_id, accepted_at }: Holder,
  device: NewDevice,
  nowMs: number,
): Promise<void> {
  const bundleId = device.bundleId ?? null;
  // A gateway accepts a token for one app only.
  const isAccepted = accepted_at !== null && bundle_id === bundleId;
  await sql`
    UPDATE devices
    SET seen_at = ${nowMs}, bundle_id = ${bundleId}, metadata = ${JSON.stringify(device.metadata)},
      sdk = ${device.client}, accepted_at = ${isAccepted ? accepted_at : null},
      accept_language = COALESCE(${device.acceptLanguage ?? null}, accept_language)
    WHERE number = ${number}`;
  if (accepted_at !== null && !isAccepted) count(later, { instance, accepted: -1 });
}

/** Whether there is no room for a device, unless it replaces one with the same token. */
async function isFull(
  sql: SQL,
  instance: number,
  { identity }: NewDevice,
  devicesMax: number,
): Promise<boolean> {
  const { devices } = await readCounts(sql, instance);
  if (devices < devicesMax) return false;
  const holders: unknown[] = await sql`
    SELECT 1 FROM devices WHERE instance = ${instance} AND token_identity = ${identity}`;
  return holders.length === 0;
}

/** `false`: a device that this transaction cannot see has the token. */
async function inserted(
  sql: TransactionSQL,
  instance: number,
  device: NewDevice,
  nowMs: number,
): Promise<boolean> {
  const { count } = await sql`
    INSERT INTO devices
      (instance, id, platform, token_identity, registered_at, seen_at, bundle_id, token, metadata, sdk,
        accepted_at, accept_language)
    VALUES (${instance}, ${device.id}, ${device.platform}, ${device.identity}, ${nowMs}, ${nowMs},
      ${device.bundleId ?? null}, ${device.token}, ${JSON.stringify(device.metadata)},
      ${device.client}, NULL, ${device.acceptLanguage ?? null})
    ON CONFLICT (instance, token_identity) DO NOTHING`;
  return count > 0;
}
