import type { TransactionSQL } from 'bun';
import type { DeviceId, Platform } from '../../../push/model/device.ts';
import type { Dialect } from '../../database/dialect.ts';
import type { Later } from '../../database/write-queue.ts';
import { count } from './instance-counts.ts';

/** What a change of one device knows of it. */
export interface DeviceRow {
  readonly number: number;
  readonly platform: Platform;
  readonly userId: string | undefined;
  /** Of its token: equal exactly where the same app on the same device is reached. */
  readonly identity: string;
  readonly isAccepted: boolean;
}

/** A number that PostgreSQL gives as text. */
export type BigInteger = number | string;

/** Rows in one statement: it takes only so many parameters. */
const ROWS_PER_STATEMENT = 500;

/** A device that was deleted. */
export interface DeletedRow {
  readonly number: BigInteger;
  readonly accepted_at: BigInteger | null;
}

/** Counts a device that came to an instance. */
export function countAdded(later: Later, instance: number): void {
  count(later, { instance, devices: 1, isRequired: true });
}

/**
 * Counts devices that were deleted, and leaves their interests to be taken away in pieces: there may be
 * thousands, and they reach nobody, since a device's number is never given again.
 */
export async function afterRemoval(
  sql: TransactionSQL,
  later: Later,
  instance: number,
  deleted: readonly DeletedRow[],
): Promise<void> {
  if (deleted.length === 0) return;
  for (const some of inPieces(deleted)) {
    await sql`INSERT INTO removed_devices ${sql(some.map(({ number }) => ({ number })))}`;
  }
  const accepted = deleted.filter(({ accepted_at }) => accepted_at !== null).length;
  count(later, { instance, devices: -deleted.length, accepted: -accepted, isRequired: true });
}

/** What nobody else does with a device until the commit: change it in any way, or only remove it. */
export type Hold = 'unchanged' | 'present';

/**
 * `present` where that is enough: those who hold a device so do not wait for one another. Changes that share
 * a commit hold many devices, and two commits that each wait for a device of the other end with a deadlock.
 */
const holds: Record<Hold, string> = {
  unchanged: 'FOR NO KEY UPDATE',
  present: 'FOR KEY SHARE',
};

interface HeldRow extends DeletedRow {
  readonly platform: Platform;
  readonly user_id: string | null;
  readonly token_identity: string;
}

/** Finds a device, and holds it. */
export async function heldDevice(
  dialect: Dialect,
  sql: TransactionSQL,
  instance: number,
  id: DeviceId,
  hold: Hold,
): Promise<DeviceRow | undefined> {
  // SQLite has one writer at a time, and no words for it.
  const held = dialect === 'postgres' ? sql.unsafe(holds[hold]) : sql``;
  const [row]: HeldRow[] = await sql`
    SELECT number, platform, user_id, token_identity, accepted_at FROM devices
    WHERE id = ${id} AND instance = ${instance} ${held}`;
  if (row === undefined) return undefined;
  return {
    number: Number(row.number),
    platform: row.platform,
    userId: row.user_id ?? undefined,
    identity: row.token_identity,
    isAccepted: row.accepted_at !== null,
  };
}

/** Parts of a list, each small enough for one statement. */
export function* inPieces<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
    yield all.slice(from, from + ROWS_PER_STATEMENT);
  }
}
