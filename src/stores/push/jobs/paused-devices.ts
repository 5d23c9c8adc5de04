import type { SQL, TransactionSQL } from 'bun';
import {
  DEVICE_PAUSED,
  PAUSED_INTERVAL_MS,
  TOO_MANY_FOR_DEVICE,
  WAITING_PER_DEVICE,
} from '../../../push/model/device-pause.ts';
import { skipLocked } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';

/** A device that waits for the end of its pause. */
interface PausedRetry {
  readonly device: number;
  readonly reason: string;
  /** `undefined`: it is not retried. */
  readonly dueAtMs: number | undefined;
}

interface WaitingRow {
  readonly device: BigInteger;
  readonly waiting: BigInteger;
  readonly older: BigInteger;
}

/**
 * When the devices of a publish become due that are in a pause: an interval later for each older publish that waits for the
 * device. Where too many wait, the oldest makes room.
 */
export async function spacedOut(
  sql: TransactionSQL,
  {
    publish,
    retries,
    nowMs,
  }: {
    readonly publish: number;
    readonly retries: readonly PausedRetry[];
    readonly nowMs: number;
  },
): Promise<ReadonlyMap<number, number>> {
  const dueAtMs = new Map<number, number>();
  for (const retry of retries) {
    if (retry.reason !== DEVICE_PAUSED || retry.dueAtMs === undefined) continue;
    dueAtMs.set(retry.device, retry.dueAtMs);
  }
  if (dueAtMs.size === 0) return dueAtMs;
  const rows: WaitingRow[] = await sql`
    SELECT device, COUNT(*) AS waiting, SUM(CASE WHEN publish < ${publish} THEN 1 ELSE 0 END) AS older
    FROM publish_devices
    WHERE ${isWaiting(sql)} AND ${isAmong(sql, 'device', [...dueAtMs.keys()])}
      AND publish <> ${publish}
    GROUP BY device`;
  for (const row of rows) {
    const device = Number(row.device);
    const firstMs = dueAtMs.get(device) ?? nowMs;
    dueAtMs.set(device, firstMs + Number(row.older) * PAUSED_INTERVAL_MS);
    if (Number(row.waiting) >= WAITING_PER_DEVICE) {
      await endOldest(sql, { device, before: publish, nowMs });
    }
  }
  return dueAtMs;
}

/** Whoever claims it finds that it is not tried any more: this commit must not change the counts of another publish. */
async function endOldest(
  sql: TransactionSQL,
  {
    device,
    before,
    nowMs,
  }: {
    readonly device: number;
    readonly before: number;
    readonly nowMs: number;
  },
): Promise<void> {
  await sql`UPDATE publish_devices
    SET reason = ${TOO_MANY_FOR_DEVICE}, due_at = ${nowMs}, ready_at = ${nowMs}
    WHERE device = ${device} AND publish IN (
      SELECT publish FROM publish_devices
      WHERE ${isWaiting(sql)} AND device = ${device} AND publish < ${before} AND leased_by IS NULL
      ORDER BY publish LIMIT 1 ${skipLocked(sql)})`;
}

/** Makes everything due that waits for the end of a device's pause. */
export async function endWaiting(
  sql: TransactionSQL,
  device: number,
  nowMs: number,
): Promise<void> {
  await sql`UPDATE publish_devices SET due_at = ${nowMs}, ready_at = ${nowMs}
    WHERE device = ${device} AND publish IN (
      SELECT publish FROM publish_devices
      WHERE ${isWaiting(sql)} AND device = ${device} AND leased_by IS NULL ${skipLocked(sql)})`;
}

/** How many publishes wait for a device, and why the oldest does. */
export async function countWaiting(
  sql: SQL,
  device: number,
): Promise<{ readonly waiting: number; readonly cause: string }> {
  const rows: { words: string }[] = await sql`
    SELECT words FROM publish_devices WHERE ${isWaiting(sql)} AND device = ${device}
    ORDER BY publish`;
  return { waiting: rows.length, cause: rows.find(({ words }) => words !== '')?.words ?? '' };
}

/** Literal, because only then does a database use the index that has these rows only. */
function isWaiting(sql: SQL) {
  return sql`reason = 'device-paused' AND ready_at IS NOT NULL`;
}
