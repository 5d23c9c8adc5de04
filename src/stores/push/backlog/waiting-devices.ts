import type { SQL } from 'bun';
import { byPlatform, type Platform, platforms } from '../../../push/model/device.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';

/** The unfinished devices of a publish that waits only for failures. */
export interface WaitingDevices {
  /** The numbers of its held pages. */
  readonly pages: readonly number[];
  readonly onPages: Readonly<Record<Platform, number>>;
  readonly retrying: Readonly<Record<Platform, number>>;
}

interface HeldRow extends Readonly<Record<Platform, number>> {
  readonly number: BigInteger;
  readonly publish: BigInteger;
}

interface CountsRow {
  readonly publish: BigInteger;
  readonly platform: Platform;
  readonly retrying: BigInteger;
  readonly remaining: BigInteger;
}

/**
 * Finds which of some publishes, planned to their end, wait only for failures: their retries and their held pages have
 * all devices without a final result, and no retry is claimed.
 */
export async function waitingDevices(
  sql: SQL,
  publishes: readonly number[],
): Promise<ReadonlyMap<number, WaitingDevices>> {
  const counts: CountsRow[] = await sql`
    SELECT publish, platform, retrying,
      planned - accepted - failed - pruned - expired - cancelled AS remaining
    FROM publish_outcomes WHERE ${isAmong(sql, 'publish', publishes)}`;
  const held: HeldRow[] = await sql`
    SELECT number, publish, apns, fcm, web FROM publish_pages
    WHERE ${isAmong(sql, 'publish', publishes)}
      AND ready_at IS NOT NULL AND held = 1 AND leased_by IS NULL AND dues = ''`;
  const claimed: { publish: BigInteger }[] = await sql`
    SELECT DISTINCT publish FROM publish_devices
    WHERE ${isAmong(sql, 'publish', publishes)} AND leased_by IS NOT NULL`;
  const inFlight = new Set(claimed.map(({ publish }) => Number(publish)));
  const pagesOf = Map.groupBy(held, ({ publish }) => Number(publish));
  const found = new Map<number, WaitingDevices>();
  for (const [publish, rows] of Map.groupBy(counts, ({ publish }) => Number(publish))) {
    if (inFlight.has(publish)) continue;
    const pages = pagesOf.get(publish) ?? [];
    const onPages = byPlatform((platform) => sum(pages.map((page) => page[platform])));
    const retrying = byPlatform((platform) => sum(of(rows, platform).map((row) => row.retrying)));
    const remaining = sum(rows.map((row) => row.remaining));
    const waiting = sum(platforms.map((platform) => onPages[platform] + retrying[platform]));
    if (waiting === 0 || waiting !== remaining) continue;
    found.set(publish, { pages: pages.map(({ number }) => Number(number)), onPages, retrying });
  }
  return found;
}

function of(rows: readonly CountsRow[], platform: Platform): readonly CountsRow[] {
  return rows.filter((row) => row.platform === platform);
}

function sum(numbers: readonly BigInteger[]): number {
  return numbers.reduce<number>((total, number) => total + Number(number), 0);
}
