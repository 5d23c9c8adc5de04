import type { SQL, TransactionSQL } from 'bun';
import type { PlaceInLine, WaitingDevices } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import type { Database } from '../../database/database.ts';
import { skipLocked } from '../../database/dialect.ts';
import type { BigInteger } from '../devices/device-rows.ts';

/** A place in the index in which devices wait for another attempt. */
interface Place extends PlaceInLine {
  readonly instance: number;
}

interface LineRow {
  readonly instance: BigInteger;
  readonly ready_at: BigInteger;
  readonly publish: BigInteger;
  readonly device: BigInteger;
  readonly platform: Platform | null;
  readonly reason: string;
  readonly leased_by: string | null;
}

/** Devices in one go where all are gone through. */
const DEVICES_AT_ONCE = 2_000;

/**
 * Makes devices due now of a stretch of the line: there may be a million, so it goes through them by the index in
 * which they wait, some at a time, and writes nothing where none is meant.
 */
export async function bringForward(
  database: Database,
  { instance, platform, reason }: WaitingDevices,
  nowMs: number,
  most: number,
  after: PlaceInLine = { dueAtMs: nowMs, publish: 0, device: 0 },
): Promise<PlaceInLine | undefined> {
  const from = { ...after, instance };
  const rows = await stretch(database.read, from, instance, most);
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const upTo = placeOf(last);
  const isMeant = (row: LineRow) =>
    row.platform === platform && row.reason === reason && row.leased_by === null;
  if (rows.some(isMeant)) {
    await database.write(
      (sql) => sql`UPDATE publish_devices SET due_at = ${nowMs}, ready_at = ${nowMs}
        WHERE (publish, device) IN (
          SELECT publish, device FROM publish_devices
          WHERE ${isIn(sql, from, upTo)} AND platform = ${platform} AND reason = ${reason}
          ${skipLocked(database.dialect, sql)})`,
    );
  }
  const { dueAtMs, publish, device } = upTo;
  return rows.length < most ? undefined : { dueAtMs, publish, device };
}

/** Where the clock was set back: lets devices that were not yet due wait as much longer as they would have. */
export async function bringBack(database: Database, byMs: number, beforeMs: number): Promise<void> {
  let from: Place = { instance: 0, dueAtMs: 0, publish: 0, device: 0 };
  for (;;) {
    const rows = await stretch(database.read, from, Number.MAX_SAFE_INTEGER, DEVICES_AT_ONCE);
    const last = rows.at(-1);
    if (last === undefined) return;
    const [after, upTo] = [from, placeOf(last)];
    const isMeant = (row: LineRow) => Number(row.ready_at) > beforeMs && row.leased_by === null;
    if (rows.some(isMeant)) {
      await database.write(
        (sql) => sql`UPDATE publish_devices
          SET due_at = due_at - ${byMs}, ready_at = ready_at - ${byMs}
          WHERE (publish, device) IN (
            SELECT publish, device FROM publish_devices
            WHERE ${isIn(sql, after, upTo)} AND ready_at > ${beforeMs}
            ${skipLocked(database.dialect, sql)})`,
      );
    }
    // Whoever was brought back is behind this place now, and is not come to again.
    from = upTo;
  }
}

function stretch(
  read: SQL,
  { instance, dueAtMs, publish, device }: Place,
  lastInstance: number,
  most: number,
): Promise<LineRow[]> {
  return read`
    SELECT instance, ready_at, publish, device, platform, reason, leased_by FROM publish_devices
    WHERE ready_at IS NOT NULL
      AND (instance, ready_at, publish, device) > (${instance}, ${dueAtMs}, ${publish}, ${device})
      AND instance <= ${lastInstance}
    ORDER BY instance, ready_at, publish, device LIMIT ${most}`;
}

function isIn(sql: TransactionSQL, from: Place, upTo: Place) {
  return sql`ready_at IS NOT NULL AND leased_by IS NULL
    AND (instance, ready_at, publish, device)
      > (${from.instance}, ${from.dueAtMs}, ${from.publish}, ${from.device})
    AND (instance, ready_at, publish, device)
      <= (${upTo.instance}, ${upTo.dueAtMs}, ${upTo.publish}, ${upTo.device})`;
}

function placeOf({ instance, ready_at, publish, device }: LineRow): Place {
  return {
    instance: Number(instance),
    dueAtMs: Number(ready_at),
    publish: Number(publish),
    device: Number(device),
  };
}
