import type { TransactionSQL } from 'bun';
import { type Platform, platforms } from '../../../push/model/device.ts';
import { skipLocked } from '../../database/dialect.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { LockedPublish } from './locked-publish.ts';
import { addTallies } from './publish-counts.ts';

/**
 * Cancels the work of an unfinished publish. Claimed work counts as in flight: it is counted when it is settled, or
 * when its expired claim is found.
 */
export async function cancelPublish(
  sql: TransactionSQL,
  locked: LockedPublish,
  nowMs: number,
): Promise<void> {
  if (locked.isOver) return;
  // The body is no longer needed: there are no webhooks for it, and jobs in flight have read it.
  await sql`UPDATE publishes SET state = 'cancelled', finished_at = ${nowMs},
      body = CASE WHEN outline IS NULL THEN body ELSE '' END
    WHERE number = ${locked.number}`;
  locked.state = 'cancelled';
  locked.isCancelledNow = true;
  await sql`UPDATE publish_plans SET ready_at = NULL
    WHERE publish IN (
      SELECT publish FROM publish_plans WHERE publish = ${locked.number}
      ${skipLocked(sql)})`;
  await cancelPages(sql, locked);
  // Counts of this commit must be in the rows before they are read.
  await addTallies(sql, [locked]);
  await countRetriesCancelled(sql, locked);
}

async function cancelPages(sql: TransactionSQL, locked: LockedPublish): Promise<void> {
  const cancelled: Readonly<Record<Platform, number>>[] = await sql`
    UPDATE publish_pages SET state = 'cancelled', ready_at = NULL
    WHERE number IN (
      SELECT number FROM publish_pages
      WHERE publish = ${locked.number} AND state = 'waiting' AND leased_by IS NULL
      ${skipLocked(sql)})
    RETURNING apns, fcm, web`;
  for (const page of cancelled) {
    for (const platform of platforms) locked.tally.count(platform, 'cancelled', page[platform]);
  }
}

/** Only counts retries, of which there may be a million. Their rows are cancelled in pieces, when they become due. */
async function countRetriesCancelled(sql: TransactionSQL, locked: LockedPublish): Promise<void> {
  const outcomes: { platform: Platform; retrying: BigInteger }[] = await sql`
    SELECT platform, retrying FROM publish_outcomes WHERE publish = ${locked.number}`;
  const leased: { platform: Platform; devices: BigInteger }[] = await sql`
    SELECT platform, COUNT(*) AS devices FROM publish_devices
    WHERE publish = ${locked.number} AND leased_by IS NOT NULL GROUP BY platform`;
  for (const { platform, retrying } of outcomes) {
    const inFlight = leased.find((row) => row.platform === platform)?.devices ?? 0;
    const cancelled = Number(retrying) - Number(inFlight);
    locked.tally.count(platform, 'retrying', -cancelled);
    locked.tally.count(platform, 'cancelled', cancelled);
  }
}
