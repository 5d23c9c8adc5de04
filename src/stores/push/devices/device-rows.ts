import type { TransactionSQL } from 'bun';
import type { DeviceId, Platform } from '../../../push/model/device.ts';
import type { DeviceKind } from '../../../push/model/token-kind.ts';
import { lockRows } from '../../database/dialect.ts';
import { type BigInteger, inPieces, isAmong } from '../../database/rows.ts';
import type { Later } from '../../database/write-queue.ts';
import { count } from './instance-counts.ts';

/** A commit that changes devices of one instance. */
export interface DeviceChange {
  readonly sql: TransactionSQL;
  readonly later: Later;
  readonly instance: number;
}

export interface DeviceRow {
  readonly number: number;
  readonly platform: Platform;
  readonly kind: DeviceKind | undefined;
  readonly userId: string | undefined;
  /** The identity of its token: equal exactly for the same app on the same device. */
  readonly identity: string;
  readonly isAccepted: boolean;
}

/** A device that was deleted. */
export interface DeletedRow {
  readonly number: BigInteger;
  readonly accepted_at: BigInteger | null;
}

/**
 * Counts deleted devices, and leaves their interests to the garbage collector: there may be thousands, and they cannot
 * reach another device, because device numbers are never reused.
 */
export async function afterRemoval(
  { sql, later, instance }: DeviceChange,
  deleted: readonly DeletedRow[],
): Promise<void> {
  if (deleted.length === 0) return;
  for (const some of inPieces(deleted)) {
    await sql`INSERT INTO removed_devices ${sql(some.map(({ number }) => ({ number })))}`;
  }
  const accepted = deleted.filter(({ accepted_at }) => accepted_at !== null).length;
  count(later, { instance, devices: -deleted.length, accepted: -accepted, isRequired: true });
}

/** What no other transaction may do with a locked device: change it at all, or remove it. */
export type DeviceLock = 'unchanged' | 'present';

/**
 * Locks of `present` do not wait for each other. They are used if possible, because changes that share a commit lock
 * many devices in any order, and two commits could deadlock.
 */
const locks = { unchanged: 'FOR NO KEY UPDATE', present: 'FOR KEY SHARE' } as const;

interface LockedRow extends DeletedRow {
  readonly platform: Platform;
  readonly kind: DeviceKind | null;
  readonly user_id: string | null;
  readonly token_identity: string;
}

/** Finds and locks a device. */
export async function lockDevice(
  { sql, instance }: Omit<DeviceChange, 'later'>,
  id: DeviceId,
  lock: DeviceLock,
): Promise<DeviceRow | undefined> {
  const [row]: LockedRow[] = await sql`
    SELECT number, platform, kind, user_id, token_identity, accepted_at FROM devices
    WHERE id = ${id} AND instance = ${instance} ${lockRows(sql, locks[lock])}`;
  if (row === undefined) return undefined;
  return {
    number: Number(row.number),
    platform: row.platform,
    kind: row.kind ?? undefined,
    userId: row.user_id ?? undefined,
    identity: row.token_identity,
    isAccepted: row.accepted_at !== null,
  };
}

export async function removeDevices(
  change: DeviceChange,
  numbers: readonly BigInteger[],
): Promise<number> {
  if (numbers.length === 0) return 0;
  const deleted: DeletedRow[] = await change.sql`
    DELETE FROM devices WHERE ${isAmong(change.sql, 'number', numbers.map(Number))}
    RETURNING number, accepted_at`;
  await afterRemoval(change, deleted);
  return deleted.length;
}
