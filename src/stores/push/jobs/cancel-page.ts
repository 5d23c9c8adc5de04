import type { TransactionSQL } from 'bun';
import { type Platform, platforms } from '../../../push/model/device.ts';
import type { LockedPublish } from '../publishes/locked-publish.ts';

/**
 * Cancels what is left of a page that was claimed when its publish was cancelled: its claim has expired, or its other
 * devices are due later.
 */
export async function cancelPage(
  sql: TransactionSQL,
  locked: LockedPublish,
  page: number,
): Promise<void> {
  const [row]: Readonly<Record<Platform, number>>[] = await sql`
    UPDATE publish_pages
    SET state = 'cancelled', ready_at = NULL, leased_by = NULL
    WHERE number = ${page} AND state = 'waiting' RETURNING apns, fcm, web`;
  if (row === undefined) return;
  for (const platform of platforms) locked.tally.count(platform, 'cancelled', row[platform]);
}
