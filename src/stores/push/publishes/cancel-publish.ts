import type { TransactionSQL } from 'bun';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { Dialect } from '../../database/dialect.ts';
import { skipLocked } from '../../database/dialect.ts';
import type { BigInteger } from '../devices/device-rows.ts';
import type { HeldPublish } from './locked-publish.ts';

/**
 * Cancels what has not gone out of a publish; one that is over stays as it is. What somebody has claimed counts as
 * under way: it is counted when it comes back, whether it went out or not.
 */
export async function cancelPublish(
  dialect: Dialect,
  sql: TransactionSQL,
  held: HeldPublish,
  nowMs: number,
): Promise<void> {
  if (held.isOver) return;
  // No webhook is told of it, and whoever is delivering some of it has read the body.
  await sql`UPDATE publishes SET state = 'cancelled', finished_at = ${nowMs},
      body = CASE WHEN outline IS NULL THEN body ELSE '' END
    WHERE number = ${held.number}`;
  held.state = 'cancelled';
  held.isCancelledNow = true;
  await sql`UPDATE publish_plans SET ready_at = NULL
    WHERE publish IN (
      SELECT publish FROM publish_plans WHERE publish = ${held.number}
      ${skipLocked(dialect, sql)})`;
  await cancelPages(dialect, sql, held);
  // What the same commit has counted so far stands in no row yet.
  await held.tally.add(sql, held.number);
  await countRetriesCancelled(sql, held);
}

async function cancelPages(
  dialect: Dialect,
  sql: TransactionSQL,
  held: HeldPublish,
): Promise<void> {
  const cancelled: Readonly<Record<Platform, number>>[] = await sql`
    UPDATE publish_pages SET state = 'cancelled', ready_at = NULL
    WHERE number IN (
      SELECT number FROM publish_pages
      WHERE publish = ${held.number} AND state = 'waiting' AND leased_by IS NULL
      ${skipLocked(dialect, sql)})
    RETURNING apns, fcm, web`;
  for (const page of cancelled) {
    for (const platform of platforms) held.tally.count(platform, 'cancelled', page[platform]);
  }
}

/** There may be a million: their rows are changed when they would have been due, some at a time. */
async function countRetriesCancelled(sql: TransactionSQL, held: HeldPublish): Promise<void> {
  const outcomes: { platform: Platform; retrying: BigInteger }[] = await sql`
    SELECT platform, retrying FROM publish_outcomes WHERE publish = ${held.number}`;
  const leased: { platform: Platform; devices: BigInteger }[] = await sql`
    SELECT platform, COUNT(*) AS devices FROM publish_devices
    WHERE publish = ${held.number} AND leased_by IS NOT NULL GROUP BY platform`;
  for (const { platform, retrying } of outcomes) {
    const underWay = leased.find((row) => row.platform === platform)?.devices ?? 0;
    const cancelled = Number(retrying) - Number(underWay);
    held.tally.count(platform, 'retrying', -cancelled);
    held.tally.count(platform, 'cancelled', cancelled);
  }
}
