import type { SQL, TransactionSQL } from 'bun';
import type { BringForward, BroughtForward } from '../../../push/job-store.ts';
import type { RetryCursor } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import type { Database } from '../../database/database.ts';
import { skipLocked } from '../../database/dialect.ts';
import type { BigInteger } from '../../database/rows.ts';

/** A place in the index of waiting retries. */
interface Place extends RetryCursor {
  readonly instance: number;
}

interface RetryRow {
  readonly instance: BigInteger;
  readonly ready_at: BigInteger;
  readonly publish: BigInteger;
  readonly device: BigInteger;
  readonly platform: Platform | null;
  readonly reason: string;
  readonly leased_by: string | null;
}

/** Retries per commit while all are shifted. */
const SHIFTED_AT_ONCE = 2_000;

/** Makes retries due now. Walks a piece of the index, because there may be a million, and writes only if some match. */
export async function bringForward(
  database: Database,
  { waiting: { instance, platform, reason }, nowMs, limit, most = limit, after }: BringForward,
): Promise<BroughtForward> {
  const from = { ...(after ?? { dueAtMs: nowMs, publish: 0, device: 0 }), instance };
  const rows = await readPiece(database.read, { from, lastInstance: instance, limit });
  const matching = rows.filter(
    (row) => row.platform === platform && row.reason === reason && row.leased_by === null,
  );
  const brought = matching.slice(0, most);
  const last = brought.at(-1);
  if (last !== undefined) {
    const upTo = placeOf(last);
    await database.write(
      (sql) => sql`UPDATE publish_devices SET due_at = ${nowMs}, ready_at = ${nowMs}
        WHERE (publish, device) IN (
          SELECT publish, device FROM publish_devices
          WHERE ${isUnclaimedIn(sql, from, upTo)} AND platform = ${platform} AND reason = ${reason}
          ${skipLocked(sql)})`,
    );
  }
  const isAll = brought.length === matching.length;
  const end = isAll ? rows.at(-1) : last;
  const isEnd = isAll && rows.length < limit;
  return { devices: brought.length, next: isEnd ? undefined : end && cursorAt(end) };
}

/** After the clock was set back by `byMs`: shifts retries that were not yet due, so that they keep their pause. */
export async function shiftRetries(
  database: Database,
  byMs: number,
  beforeMs: number,
): Promise<void> {
  let from: Place = { instance: 0, dueAtMs: 0, publish: 0, device: 0 };
  for (;;) {
    const rows = await readPiece(database.read, {
      from,
      lastInstance: Number.MAX_SAFE_INTEGER,
      limit: SHIFTED_AT_ONCE,
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    const [after, upTo] = [from, placeOf(last)];
    const matches = (row: RetryRow) => Number(row.ready_at) > beforeMs && row.leased_by === null;
    if (rows.some(matches)) {
      await database.write(
        (sql) => sql`UPDATE publish_devices
          SET due_at = due_at - ${byMs}, ready_at = ready_at - ${byMs}
          WHERE (publish, device) IN (
            SELECT publish, device FROM publish_devices
            WHERE ${isUnclaimedIn(sql, after, upTo)} AND ready_at > ${beforeMs}
            ${skipLocked(sql)})`,
      );
    }
    // Shifted retries are before this place now, so they are not shifted twice.
    from = upTo;
  }
}

function readPiece(
  read: SQL,
  {
    from: { instance, dueAtMs, publish, device },
    lastInstance,
    limit,
  }: { readonly from: Place; readonly lastInstance: number; readonly limit: number },
): Promise<RetryRow[]> {
  return read`
    SELECT instance, ready_at, publish, device, platform, reason, leased_by FROM publish_devices
    WHERE ready_at IS NOT NULL
      AND (instance, ready_at, publish, device) > (${instance}, ${dueAtMs}, ${publish}, ${device})
      AND instance <= ${lastInstance}
    ORDER BY instance, ready_at, publish, device LIMIT ${limit}`;
}

function isUnclaimedIn(sql: TransactionSQL, from: Place, upTo: Place) {
  return sql`ready_at IS NOT NULL AND leased_by IS NULL
    AND (instance, ready_at, publish, device)
      > (${from.instance}, ${from.dueAtMs}, ${from.publish}, ${from.device})
    AND (instance, ready_at, publish, device)
      <= (${upTo.instance}, ${upTo.dueAtMs}, ${upTo.publish}, ${upTo.device})`;
}

function placeOf(row: RetryRow): Place {
  return { instance: Number(row.instance), ...cursorAt(row) };
}

function cursorAt({ ready_at, publish, device }: RetryRow): RetryCursor {
  return { dueAtMs: Number(ready_at), publish: Number(publish), device: Number(device) };
}
