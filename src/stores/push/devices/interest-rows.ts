import type { SQL, TransactionSQL } from 'bun';
import { type Dialect, exclusively } from '../../database/dialect.ts';
import type { Later } from '../../database/write-queue.ts';
import { type BigInteger, inPieces } from './device-rows.ts';
import { count, readCounts } from './instance-counts.ts';

/**
 * As long as a device has room for so many, those that add some to it need not wait for one another: far more
 * than can come at the same moment.
 */
const ROOM_FOR_MANY = 2000;

/** An interest for a device, and how many there may be; `instanceMax` 0: no limit for the instance. */
interface NewInterest {
  readonly instance: number;
  readonly device: number;
  readonly interest: string;
  /** Of the device. */
  readonly max: number;
  readonly instanceMax: number;
}

interface NewInterests {
  readonly instance: number;
  readonly device: number;
  readonly interests: readonly string[];
  /** 0: no limit for the instance. */
  readonly instanceMax: number;
}

/** How a device's interests differ from those that it is to have. */
export async function compareInterests(
  sql: SQL,
  device: number,
  interests: readonly string[],
): Promise<{ readonly added: readonly string[]; readonly removed: readonly string[] }> {
  const rows: { interest: string }[] = await sql`
    SELECT interest FROM device_interests WHERE device = ${device}`;
  const held = new Set(rows.map(({ interest }) => interest));
  const wanted = new Set(interests);
  return { added: [...wanted.difference(held)], removed: [...held.difference(wanted)] };
}

/** Makes a device's interests these; writes only what differs. */
export async function replaceInterests(
  dialect: Dialect,
  sql: TransactionSQL,
  later: Later,
  { instance, device, interests, instanceMax }: NewInterests,
): Promise<'set' | 'instance-full'> {
  await exclusively(dialect, sql, nameOf(device));
  const { added, removed } = await compareInterests(sql, device, interests);
  const more = added.length - removed.length;
  if (more > 0 && !(await hasRoom(sql, instance, more, instanceMax))) return 'instance-full';
  // Others may add or remove single ones meanwhile, so what was really changed is counted.
  let changed = 0;
  for (const some of inPieces(removed)) {
    const deleted = await sql`DELETE FROM device_interests
      WHERE instance = ${instance} AND device = ${device} AND interest IN ${sql(some)}`;
    changed -= deleted.count;
  }
  for (const some of inPieces(added)) {
    const rows = some.map((interest) => ({ instance, interest, device }));
    const inserted = await sql`INSERT INTO device_interests ${sql(rows)} ON CONFLICT DO NOTHING`;
    changed += inserted.count;
  }
  count(later, { instance, interests: changed });
  return 'set';
}

/** Adds one, unless the device has `max` others. */
export async function addInterest(
  dialect: Dialect,
  sql: TransactionSQL,
  later: Later,
  { instance, device, interest, max, instanceMax }: NewInterest,
): Promise<'added' | 'full' | 'instance-full'> {
  let { held, isThere } = await interestsHeld(sql, device, interest);
  if (!isThere && held >= max - ROOM_FOR_MANY) {
    await exclusively(dialect, sql, nameOf(device));
    ({ held, isThere } = await interestsHeld(sql, device, interest));
    if (!isThere && held >= max) return 'full';
  }
  if (isThere) return 'added';
  if (!(await hasRoom(sql, instance, 1, instanceMax))) return 'instance-full';
  const inserted = await sql`INSERT INTO device_interests (instance, interest, device)
    VALUES (${instance}, ${interest}, ${device}) ON CONFLICT DO NOTHING`;
  count(later, { instance, interests: inserted.count });
  return 'added';
}

async function hasRoom(
  sql: TransactionSQL,
  instance: number,
  more: number,
  instanceMax: number,
): Promise<boolean> {
  if (instanceMax === 0) return true;
  return (await readCounts(sql, instance)).interests + more <= instanceMax;
}

async function interestsHeld(
  sql: TransactionSQL,
  device: number,
  interest: string,
): Promise<{ held: number; isThere: boolean }> {
  const [row]: { held: BigInteger; same: BigInteger }[] = await sql`
    SELECT COUNT(*) AS held, COUNT(CASE WHEN interest = ${interest} THEN 1 END) AS same
    FROM device_interests WHERE device = ${device}`;
  return { held: Number(row?.held), isThere: Number(row?.same) > 0 };
}

/** What whoever changes many interests of a device, or its last ones, waits for. */
function nameOf(device: number): string {
  return `interests of ${device}`;
}
