import type { TransactionSQL } from 'bun';
import type { CapUses } from '../../../push/cap-uses.ts';
import {
  type CapUse,
  capEndedAtMs,
  OVER_CAP,
  overCapWords,
  type PageCap,
} from '../../../push/model/cap.ts';
import type { LeftOutDevices } from '../../../push/model/delivery.ts';
import type { Database } from '../../database/database.ts';
import { exclusively } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';

/** A page that counts towards the caps of its devices. */
interface CountedPage {
  readonly instance: number;
  readonly cap: PageCap;
}

/**
 * Counts a notification for each device of some pages that has room. Returns the others of each page. Pages of one instance
 * are counted by one commit after the other: otherwise commits that lock devices in different orders could wait for each
 * other.
 */
export async function countForCaps<Page extends CountedPage>(
  sql: TransactionSQL,
  pages: readonly Page[],
): Promise<ReadonlyMap<Page, readonly LeftOutDevices[]>> {
  const over = new Map<Page, readonly LeftOutDevices[]>();
  const instances = [...new Set(pages.map(({ instance }) => instance))].sort((a, b) => a - b);
  for (const instance of instances) await exclusively(sql, `caps of ${instance}`);
  for (const page of pages) over.set(page, await countPage(sql, page.cap));
  return over;
}

async function countPage(sql: TransactionSQL, cap: PageCap): Promise<readonly LeftOutDevices[]> {
  const { devices, notifications, nowMs } = cap;
  if (devices.length === 0) return [];
  const endedMs = capEndedAtMs(cap);
  // A device may be gone since its page was read, and its row would stay for ever.
  const counted: { device: BigInteger }[] = await sql`
    INSERT INTO device_caps (device, since, used)
    SELECT number, CAST(${nowMs} AS BIGINT), 1 FROM devices WHERE ${isAmong(sql, 'number', devices)}
    ON CONFLICT (device) DO UPDATE SET
      used = CASE WHEN device_caps.since <= ${endedMs} THEN 1 ELSE device_caps.used + 1 END,
      since = CASE WHEN device_caps.since <= ${endedMs} THEN ${nowMs} ELSE device_caps.since END
    WHERE device_caps.since <= ${endedMs} OR device_caps.used < ${notifications}
    RETURNING device`;
  if (counted.length === devices.length) return [];
  const withRoom = new Set(counted.map(({ device }) => Number(device)));
  const others = devices.filter((device) => !withRoom.has(device));
  const rows: { device: BigInteger; since: BigInteger }[] = await sql`
    SELECT device, since FROM device_caps WHERE ${isAmong(sql, 'device', others)} ORDER BY device`;
  const byWords = Map.groupBy(rows, ({ since }) => overCapWords(cap, Number(since)));
  return [...byWords].map(([words, some]) => ({
    what: 'failed',
    reason: OVER_CAP,
    words,
    devices: some.map(({ device }) => Number(device)),
  }));
}

/** Reads the counts of devices from the store's tables. */
export class StoredCaps implements CapUses {
  private readonly database: Pick<Database, 'read'>;

  constructor(database: Pick<Database, 'read'>) {
    this.database = database;
  }

  async full(cap: PageCap): Promise<ReadonlySet<number>> {
    const { read } = this.database;
    const rows: { device: BigInteger }[] = await read`
      SELECT device FROM device_caps
      WHERE ${isAmong(read, 'device', cap.devices)} AND since > ${capEndedAtMs(cap)}
        AND used >= ${cap.notifications}`;
    return new Set(rows.map(({ device }) => Number(device)));
  }

  async useOf(device: number, cap: Omit<PageCap, 'devices'>): Promise<CapUse | undefined> {
    const [row]: { since: BigInteger; used: number }[] = await this.database.read`
      SELECT since, used FROM device_caps
      WHERE device = ${device} AND since > ${capEndedAtMs(cap)}`;
    return row && { used: row.used, sinceMs: Number(row.since) };
  }
}
