import type { DeviceResult } from '../../../push/model/delivery.ts';
import type { DeviceId, Platform } from '../../../push/model/device.ts';
import { lockRows } from '../../database/dialect.ts';
import { type BigInteger, inPieces, isAmong } from '../../database/rows.ts';
import { afterRemoval, type DeletedRow, type DeviceChange } from './device-rows.ts';

type Pruned = Extract<DeviceResult, { readonly what: 'pruned' }>;

interface DeletedDevice extends DeletedRow {
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly registered_at: BigInteger;
}

/**
 * Deletes devices with dead tokens, and stores the reason in a tombstone. Skips devices that have another token by now, or
 * were seen since the attempt: their app may be there again.
 */
export async function pruneDevices(
  { sql, later, instance, nowMs }: DeviceChange & { readonly nowMs: number },
  pruned: readonly Pruned[],
): Promise<void> {
  if (pruned.length === 0) return;
  const byDevice = new Map(pruned.map((result) => [result.device, result]));
  const rows: { number: BigInteger; token: string; seen_at: BigInteger }[] = await sql`
    SELECT number, token, seen_at FROM devices
    WHERE ${isAmong(sql, 'number', [...byDevice.keys()])} AND +instance = ${instance}
    ORDER BY number ${lockRows(sql, 'FOR UPDATE')}`;
  const dead = rows
    .filter(({ number, token, seen_at }) => {
      const tried = byDevice.get(Number(number));
      return tried?.token === token && Number(seen_at) <= tried.seenAtMs;
    })
    .map(({ number }) => Number(number));
  if (dead.length === 0) return;
  const deleted: DeletedDevice[] = await sql`
    DELETE FROM devices WHERE ${isAmong(sql, 'number', dead)}
    RETURNING number, id, platform, registered_at, accepted_at`;
  const tombstones = deleted.map(({ number, id, platform, registered_at }) => ({
    instance,
    id,
    number,
    platform,
    registered_at,
    removed_at: nowMs,
    reason: byDevice.get(Number(number))?.reason ?? '',
    words: byDevice.get(Number(number))?.words ?? '',
  }));
  for (const some of inPieces(tombstones)) {
    await sql`INSERT INTO device_tombstones ${sql(some)} ON CONFLICT DO NOTHING`;
  }
  await afterRemoval({ sql, later, instance }, deleted);
}
