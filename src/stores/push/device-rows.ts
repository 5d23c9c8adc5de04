import type { TransactionSQL } from 'bun';
import type { DeviceId, Platform } from '../../push/device.ts';
import { StoreLost } from '../../push/ports.ts';
import type { Dialect } from '../dialect.ts';
import type { Batch, Later } from '../write-queue.ts';

/** What a change of one device knows of it. */
export interface DeviceRow {
  readonly number: number;
  readonly platform: Platform;
  readonly userId: string | undefined;
}

/** A number that PostgreSQL gives as text. */
export type BigInteger = number | string;

/** Rows in one statement: it takes only so many parameters. */
const ROWS_PER_STATEMENT = 500;

interface CountChange {
  readonly instance: number;
  readonly change: number;
}

/** How many devices an instance has; all changes of a commit are added at once, since the row is everybody's. */
const deviceCounts: Batch<CountChange> = {
  async run(sql, items) {
    const sums = new Map<number, number>();
    for (const { instance, change } of items) {
      sums.set(instance, (sums.get(instance) ?? 0) + change);
    }
    // In one order everywhere: two servers that wait for each other would wait for ever.
    for (const [instance, sum] of [...sums].sort(([a], [b]) => a - b)) {
      const { count } = await sql`
        UPDATE instance_numbers SET devices = devices + ${sum} WHERE number = ${instance}`;
      // Its last rows were swept while a device registered: that device would be nobody's.
      if (count === 0) throw new StoreLost('the store has lost the instance');
    }
  },
};

/** Counts devices that came to an instance. */
export function countAdded(later: Later, instance: number, devices: number): void {
  later(deviceCounts, { instance, change: devices });
}

/**
 * Counts devices that were deleted, and leaves their interests to be taken away in pieces: there may be
 * thousands, and they reach nobody, since a device's number is never given again.
 */
export async function afterRemoval(
  sql: TransactionSQL,
  later: Later,
  instance: number,
  deleted: readonly { readonly number: BigInteger }[],
): Promise<void> {
  if (deleted.length === 0) return;
  for (const some of inPieces(deleted)) {
    await sql`INSERT INTO removed_devices ${sql(some.map(({ number }) => ({ number })))}`;
  }
  later(deviceCounts, { instance, change: -deleted.length });
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
  const [row]: { number: BigInteger; platform: Platform; user_id: string | null }[] = await sql`
    SELECT number, platform, user_id FROM devices
    WHERE id = ${id} AND instance = ${instance} ${held}`;
  if (row === undefined) return undefined;
  return {
    number: Number(row.number),
    platform: row.platform,
    userId: row.user_id ?? undefined,
  };
}

/** Parts of a list, each small enough for one statement. */
export function* inPieces<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
    yield all.slice(from, from + ROWS_PER_STATEMENT);
  }
}
