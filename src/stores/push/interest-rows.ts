import type { TransactionSQL } from 'bun';
import { type Dialect, exclusively } from '../dialect.ts';
import { type BigInteger, inPieces } from './device-rows.ts';

/**
 * As long as a device has room for so many, those that add some to it need not wait for one another: far more
 * than can come at the same moment.
 */
const ROOM_FOR_MANY = 2000;

interface InterestRow {
  readonly instance: number;
  readonly device: number;
  readonly interest: string;
}

/** Makes a device's interests these; writes only what differs. */
export async function replaceInterests(
  dialect: Dialect,
  sql: TransactionSQL,
  instance: number,
  device: number,
  interests: readonly string[],
): Promise<void> {
  await exclusively(dialect, sql, nameOf(device));
  const rows: { interest: string }[] = await sql`
    SELECT interest FROM device_interests WHERE device = ${device}`;
  const held = new Set(rows.map(({ interest }) => interest));
  const wanted = new Set(interests);

  for (const some of inPieces([...held.difference(wanted)])) {
    await sql`DELETE FROM device_interests
      WHERE instance = ${instance} AND device = ${device} AND interest IN ${sql(some)}`;
  }
  for (const some of inPieces([...wanted.difference(held)])) {
    const added = some.map((interest) => ({ instance, interest, device }));
    await sql`INSERT INTO device_interests ${sql(added)} ON CONFLICT DO NOTHING`;
  }
}

/** Adds one, unless the device has `max` others. */
export async function addInterest(
  dialect: Dialect,
  sql: TransactionSQL,
  { instance, device, interest }: InterestRow,
  max: number,
): Promise<'added' | 'full'> {
  let { held, isThere } = await interestsHeld(sql, device, interest);
  if (!isThere && held >= max - ROOM_FOR_MANY) {
    await exclusively(dialect, sql, nameOf(device));
    ({ held, isThere } = await interestsHeld(sql, device, interest));
    if (!isThere && held >= max) return 'full';
  }
  if (isThere) return 'added';
  await sql`INSERT INTO device_interests (instance, interest, device)
    VALUES (${instance}, ${interest}, ${device}) ON CONFLICT DO NOTHING`;
  return 'added';
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
