import type { SQL, TransactionSQL } from 'bun';
import type { NewRegistration, RegisterRefusal } from '../../../push/device-store.ts';
import type { DeviceId, NewDevice } from '../../../push/model/device.ts';
import { exclusively, lockRows } from '../../database/dialect.ts';
import type { BigInteger } from '../../database/rows.ts';
import { type DeviceChange, removeDevices } from './device-rows.ts';
import { count, readCounts } from './instance-counts.ts';
import { compareInterests, hasRoom, replaceInterests } from './interest-rows.ts';
import { isHostFull } from './open-hosts.ts';
import { surplusOf, surplusOfParent } from './surplus-devices.ts';

/** With room for this many more devices, registrations need no lock: fewer come at the same time. */
const ROOM_WITHOUT_LOCK = 2000;

/** Devices that the changes of one commit have added so far: they are counted at its end. */
const addedInCommit = new WeakMap<TransactionSQL, Map<number, number>>();

/** The device that a registration has made or found. */
interface RegisteredRow {
  readonly id: DeviceId;
  readonly number: number;
  readonly isNew: boolean;
}

/** Registers a device. Finds out whether it is refused before it writes anything. */
export async function register(
  change: DeviceChange,
  registration: NewRegistration,
): Promise<RegisteredRow | RegisterRefusal | 'no-instance'> {
  const { sql, later, instance } = change;
  const { device, nowMs, devicesMax = 0 } = registration;
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
    const holder = found.holder === null ? undefined : await lockHolder(sql, found.holder);
    // It was removed in between.
    if (found.holder !== null && holder === undefined) continue;
    const isFullNow = devicesMax > 0 && Number(found.devices) + addedBefore >= devicesMax;
    if (holder === undefined && isFullNow) return 'full';
    // An imported device becomes that of the SDK, whose subscription may have other keys.
    const isSame = holder?.token === device.token || holder?.isImported === true;
    const same = isSame ? holder : undefined;
    if (holder === undefined && (await isHostFull(change, device))) return 'host-full';
    const room = await roomFor(change, registration, same);
    if (typeof room === 'string') return room;
    if (same !== undefined) {
      await removeDevices(change, room.surplus);
      await registerAgain(change, same, device, nowMs);
      return await completed(change, registration, { ...same, isNew: false });
    }
    await removeDevices(change, [...room.surplus, ...(holder ? [holder.number] : [])]);
    const number = await inserted(sql, instance, device, nowMs);
    if (number !== undefined) {
      count(later, { instance, devices: 1, isRequired: true });
      if (holder === undefined) added.set(instance, addedBefore + 1);
      return await completed(change, registration, { id: device.id, number, isNew: true });
    }
    // Another server has registered the same token in between.
  }
}

/** Whether there is no room for a device, unless it replaces one with the same token. */
export async function isFull(
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

/** The device that has a token. */
interface Holder {
  readonly id: DeviceId;
  readonly number: number;
  readonly token: string;
  readonly userId: string | null;
  readonly bundleId: string | null;
  readonly acceptedAt: BigInteger | null;
  /** An import has brought it, and no SDK has registered it yet. */
  readonly isImported: boolean;
}

interface HolderRow {
  readonly id: DeviceId;
  readonly number: BigInteger;
  readonly token: string;
  readonly user_id: string | null;
  readonly bundle_id: string | null;
  readonly accepted_at: BigInteger | null;
  readonly origin: string | null;
}

async function lockHolder(sql: TransactionSQL, number: BigInteger): Promise<Holder | undefined> {
  const [row]: HolderRow[] = await sql`
    SELECT id, number, token, user_id, bundle_id, accepted_at, origin FROM devices
    WHERE number = ${number} ${lockRows(sql, 'FOR NO KEY UPDATE')}`;
  if (row === undefined) return undefined;
  const { id, token, user_id, bundle_id, accepted_at, origin } = row;
  return {
    id,
    number: Number(row.number),
    token,
    // Another person may have the device now.
    userId: origin === null ? user_id : null,
    bundleId: bundle_id,
    acceptedAt: accepted_at,
    isImported: origin !== null,
  };
}

/** The devices that must leave for a registration; or why it is refused. `same`: the device that has the token already. */
async function roomFor(
  change: DeviceChange,
  { device, user, interests }: NewRegistration,
  same: Holder | undefined,
): Promise<{ readonly surplus: readonly BigInteger[] } | RegisterRefusal> {
  const before = same?.userId ?? undefined;
  if (user && before !== undefined && before !== user.userId) return 'other-user';
  const ofUser = user && before === undefined ? await surplusOf(change, device, user) : [];
  if (ofUser === 'full') return 'user-full';
  if (interests !== undefined) {
    const { added, removed } =
      same === undefined
        ? { added: interests.names, removed: [] }
        : await compareInterests(change.sql, same.number, interests.names);
    const more = added.length - removed.length;
    const { sql, instance } = change;
    if (more > 0 && !(await hasRoom(sql, instance, more, interests.instanceMax))) {
      return 'interests-full';
    }
  }
  const ofParent = same === undefined ? await surplusOfParent(change, device) : [];
  const surplus = new Set([...ofUser, ...ofParent].map(Number));
  if (same !== undefined) surplus.delete(same.number);
  return { surplus: [...surplus] };
}

/** Sets what the registration says of the user and the interests. */
async function completed(
  change: DeviceChange,
  { user, interests }: NewRegistration,
  { id, number, isNew }: RegisteredRow,
): Promise<RegisteredRow> {
  if (user !== undefined) {
    await change.sql`UPDATE devices SET user_id = ${user.userId} WHERE number = ${number}`;
  }
  if (interests !== undefined) {
    await replaceInterests(change, number, { interests: interests.names });
  }
  return { id, number, isNew };
}

/** Updates what a device says about itself when it registers its token again, as iOS does at each launch. */
async function registerAgain(
  { sql, later, instance }: DeviceChange,
  { number, token, bundleId: before, acceptedAt, userId }: Holder,
  device: NewDevice,
  nowMs: number,
): Promise<void> {
  const bundleId = device.bundleId ?? null;
  // A gateway accepts a token for one app only. An imported device may have had another token.
  const isAccepted = acceptedAt !== null && before === bundleId && token === device.token;
  await sql`
    UPDATE devices
    SET seen_at = ${nowMs}, bundle_id = ${bundleId}, metadata = ${JSON.stringify(device.metadata)},
      sdk = ${device.client}, accepted_at = ${isAccepted ? acceptedAt : null},
      kind = ${device.kind ?? null}, parent = ${device.parent ?? null},
      open_host = ${device.openHost ?? null}, token = ${device.token}, user_id = ${userId}, origin = NULL,
      accept_language = COALESCE(${device.acceptLanguage ?? null}, accept_language)
    WHERE number = ${number}`;
  if (acceptedAt !== null && !isAccepted) count(later, { instance, accepted: -1 });
}

/** Returns its number; `undefined`: a device that this transaction cannot see has the token. */
async function inserted(
  sql: TransactionSQL,
  instance: number,
  device: NewDevice,
  nowMs: number,
): Promise<number | undefined> {
  const [row]: { number: BigInteger }[] = await sql`
    INSERT INTO devices
      (instance, id, platform, token_identity, registered_at, seen_at, bundle_id, token, metadata, sdk,
        accepted_at, kind, parent, accept_language, open_host)
    VALUES (${instance}, ${device.id}, ${device.platform}, ${device.identity}, ${nowMs}, ${nowMs},
      ${device.bundleId ?? null}, ${device.token}, ${JSON.stringify(device.metadata)},
      ${device.client}, NULL, ${device.kind ?? null}, ${device.parent ?? null},
      ${device.acceptLanguage ?? null}, ${device.openHost ?? null})
    ON CONFLICT (instance, token_identity) DO NOTHING
    RETURNING number`;
  return row && Number(row.number);
}
