import type { SQL, TransactionSQL } from 'bun';
import type { NewInterest, NewInterests } from '../../../push/device-store.ts';
import { exclusively } from '../../database/dialect.ts';
import { type BigInteger, inPieces } from '../../database/rows.ts';
import type { DeviceChange } from './device-rows.ts';
import { count, readCounts } from './instance-counts.ts';

/** With room for this many more interests, single additions to a device need no lock: fewer come at the same time. */
const ROOM_WITHOUT_LOCK = 2000;

/** The difference between a device's interests and those that it is to have. */
export async function compareInterests(
  sql: SQL,
  device: number,
  interests: readonly string[],
): Promise<{ readonly added: readonly string[]; readonly removed: readonly string[] }> {
  const rows: { interest: string }[] = await sql`
    SELECT interest FROM device_interests WHERE device = ${device}`;
  const present = new Set(rows.map(({ interest }) => interest));
  const wanted = new Set(interests);
  return { added: [...wanted.difference(present)], removed: [...present.difference(wanted)] };
}

/** Replaces a device's interests; writes only the difference. */
export async function replaceInterests(
  { sql, later, instance }: DeviceChange,
  device: number,
  { interests, instanceMax }: Pick<NewInterests, 'interests' | 'instanceMax'>,
): Promise<'set' | 'instance-full'> {
  await exclusively(sql, lockName(device));
  const { added, removed } = await compareInterests(sql, device, interests);
  const more = added.length - removed.length;
  if (more > 0 && !(await hasRoom(sql, instance, more, instanceMax))) return 'instance-full';
  // Other transactions may add or remove single interests concurrently, so only actual changes are counted.
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

/** Adds an interest, unless the device has `max` others. */
export async function addInterest(
  { sql, later, instance }: DeviceChange,
  device: number,
  { interest, max, instanceMax }: NewInterest,
): Promise<'added' | 'full' | 'instance-full'> {
  let { total, isPresent } = await countInterests(sql, device, interest);
  if (!isPresent && total >= max - ROOM_WITHOUT_LOCK) {
    await exclusively(sql, lockName(device));
    ({ total, isPresent } = await countInterests(sql, device, interest));
    if (!isPresent && total >= max) return 'full';
  }
  if (isPresent) return 'added';
  if (!(await hasRoom(sql, instance, 1, instanceMax))) return 'instance-full';
  const inserted = await sql`INSERT INTO device_interests (instance, interest, device)
    VALUES (${instance}, ${interest}, ${device}) ON CONFLICT DO NOTHING`;
  count(later, { instance, interests: inserted.count });
  return 'added';
}

/** Whether the devices of an instance may have more interests. */
export async function hasRoom(
  sql: TransactionSQL,
  instance: number,
  more: number,
  instanceMax = 0,
): Promise<boolean> {
  if (instanceMax === 0) return true;
  return (await readCounts(sql, instance)).interests + more <= instanceMax;
}

async function countInterests(
  sql: TransactionSQL,
  device: number,
  interest: string,
): Promise<{ total: number; isPresent: boolean }> {
  const [row]: { total: BigInteger; same: BigInteger }[] = await sql`
    SELECT COUNT(*) AS total, COUNT(CASE WHEN interest = ${interest} THEN 1 END) AS same
    FROM device_interests WHERE device = ${device}`;
  return { total: Number(row?.total), isPresent: Number(row?.same) > 0 };
}

/** The lock for changes of many interests of a device, or of its last ones before the limit. */
function lockName(device: number): string {
  return `interests of ${device}`;
}
