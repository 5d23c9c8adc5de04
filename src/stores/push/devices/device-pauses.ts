import type { DeviceResult } from '../../../push/model/delivery.ts';
import type { DevicePause, NewDevicePause } from '../../../push/model/device-pause.ts';
import { isPostgres, lockRows } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import type { DeviceChange } from './device-rows.ts';

/** The columns of a device that keep its pause. */
export interface PauseColumns {
  /** NULL: it has none. */
  readonly paused_until: BigInteger | null;
  readonly failures: number;
  readonly failing_since: BigInteger | null;
}

export function pauseOf(row: PauseColumns): DevicePause | undefined {
  const { paused_until, failures, failing_since } = row;
  if (paused_until === null) return undefined;
  return {
    untilMs: Number(paused_until),
    failures,
    sinceMs: Number(failing_since ?? paused_until),
  };
}

/**
 * Keeps the pauses that begin with some results, and deletes those that end. Skips devices that have another token by now,
 * and those that another transaction is changing: the server that knows the pause still keeps it.
 */
export async function recordPauses(
  { sql }: Pick<DeviceChange, 'sql'>,
  results: readonly DeviceResult[],
): Promise<void> {
  const begun = new Map<number, NewDevicePause>();
  const ended: number[] = [];
  for (const result of results) {
    if (result.what === 'accepted') {
      if (result.endsPause) ended.push(result.device);
    } else if (result.what !== 'pruned' && result.pause !== undefined) {
      begun.set(result.device, result.pause);
    }
  }
  if (ended.length > 0) {
    await sql`UPDATE devices SET paused_until = NULL, failures = 0, failing_since = NULL
      WHERE number IN (
        SELECT number FROM devices
        WHERE ${isAmong(sql, 'number', ended)} AND paused_until IS NOT NULL
        ORDER BY number ${lockRows(sql, 'FOR NO KEY UPDATE SKIP LOCKED')})`;
  }
  if (begun.size === 0) return;
  const rows: { number: BigInteger; token: string }[] = await sql`
    SELECT number, token FROM devices WHERE ${isAmong(sql, 'number', [...begun.keys()])}
    ORDER BY number ${lockRows(sql, 'FOR NO KEY UPDATE SKIP LOCKED')}`;
  const changes = rows.flatMap((row) => {
    const number = Number(row.number);
    const pause = begun.get(number);
    if (pause?.token !== row.token) return [];
    const { untilMs, failures, sinceMs } = pause;
    return { number, paused_until: untilMs, failures, failing_since: sinceMs };
  });
  if (changes.length === 0) return;
  const json = JSON.stringify(changes);
  const change = isPostgres(sql)
    ? sql`json_to_recordset(${json}::text::json)
        AS change (number BIGINT, paused_until BIGINT, failures INTEGER, failing_since BIGINT)`
    : sql`(SELECT value ->> 'number' AS number, value ->> 'paused_until' AS paused_until,
        value ->> 'failures' AS failures, value ->> 'failing_since' AS failing_since
        FROM json_each(${json})) AS change`;
  // Another server may know of a longer pause.
  await sql`UPDATE devices SET paused_until = change.paused_until, failures = change.failures,
      failing_since = change.failing_since
    FROM ${change}
    WHERE devices.number = change.number
      AND (devices.paused_until IS NULL OR devices.paused_until < change.paused_until)`;
}
