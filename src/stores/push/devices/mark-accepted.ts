import type { DeviceResult } from '../../../push/model/delivery.ts';
import { lockRows } from '../../database/dialect.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import type { DeviceChange } from './device-rows.ts';
import { count } from './instance-counts.ts';

/**
 * Marks devices whose token was accepted for the first time. Skips devices that have another token by now, and those
 * that another transaction is changing: they are marked at their next acceptance.
 */
export async function markAccepted(
  { sql, later, instance, nowMs }: DeviceChange & { readonly nowMs: number },
  results: readonly DeviceResult[],
): Promise<void> {
  const tokens = new Map<number, string>();
  for (const result of results) {
    if (result.what === 'accepted' && result.firstToken !== undefined) {
      tokens.set(result.device, result.firstToken);
    }
  }
  if (tokens.size === 0) return;
  const rows: { number: BigInteger; token: string }[] = await sql`
    SELECT number, token FROM devices
    WHERE ${isAmong(sql, 'number', [...tokens.keys()])} AND accepted_at IS NULL
    ORDER BY number ${lockRows(sql, 'FOR NO KEY UPDATE SKIP LOCKED')}`;
  const first = rows
    .filter(({ number, token }) => tokens.get(Number(number)) === token)
    .map(({ number }) => Number(number));
  if (first.length === 0) return;
  const marked = await sql`
    UPDATE devices SET accepted_at = ${nowMs} WHERE ${isAmong(sql, 'number', first)}`;
  count(later, { instance, accepted: marked.count });
}
