import type { TransactionSQL } from 'bun';
import type { DeviceResult } from '../../../push/model/delivery.ts';
import type { Dialect } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import type { Later } from '../../database/write-queue.ts';
import type { BigInteger } from './device-rows.ts';
import { count } from './instance-counts.ts';

/**
 * Marks devices whose token was accepted for the first time. Costs nothing where all were accepted before. A device
 * that holds another token by now is left alone, and so is one that somebody else is changing: it is marked the next
 * time that it is accepted.
 */
export async function markAccepted(
  dialect: Dialect,
  sql: TransactionSQL,
  later: Later,
  instance: number,
  results: readonly DeviceResult[],
  nowMs: number,
): Promise<void> {
  const tokens = new Map<number, string>();
  for (const result of results) {
    if (result.what === 'accepted' && result.firstToken !== undefined) {
      tokens.set(result.device, result.firstToken);
    }
  }
  if (tokens.size === 0) return;
  const held: { number: BigInteger; token: string }[] = await sql`
    SELECT number, token FROM devices
    WHERE ${isAmong(dialect, sql, 'number', [...tokens.keys()])} AND accepted_at IS NULL
    ORDER BY number ${dialect === 'postgres' ? sql`FOR NO KEY UPDATE SKIP LOCKED` : sql``}`;
  const first = held
    .filter(({ number, token }) => tokens.get(Number(number)) === token)
    .map(({ number }) => Number(number));
  if (first.length === 0) return;
  const marked = await sql`
    UPDATE devices SET accepted_at = ${nowMs} WHERE ${isAmong(dialect, sql, 'number', first)}`;
  count(later, { instance, accepted: marked.count });
}
