import { setImmediate } from 'node:timers/promises';
import { FORGET_ROWS, LOG_BYTES_MAX, LOG_ROWS_MAX } from './limits.ts';
import type { FinishedRequests, OutboxLog } from './outbox.ts';

const DAY_MS = 86_400_000;

/**
 * Deletes what the log no longer keeps: finished requests older than `logDays`, and beyond the log's bounds the
 * oldest of the app or instance that has most. One small commit after the other, and others get their turn in between.
 */
export async function enforceLogRetention(
  log: OutboxLog,
  logDays: number,
  nowMs: number,
): Promise<void> {
  // One millisecond on, so that with 0 days everything goes.
  const beforeMs = nowMs + 1 - logDays * DAY_MS;
  while ((await log.forget(beforeMs, FORGET_ROWS)).rows === FORGET_ROWS) await setImmediate();

  const kept = [...(await log.finished())];
  await forgetSurplus(log, kept, 'rows', LOG_ROWS_MAX);
  await forgetSurplus(log, kept, 'bytes', LOG_BYTES_MAX);
}

/** Forgets until all owners together have no more than `most`. Keeps `kept` right. */
async function forgetSurplus(
  log: OutboxLog,
  kept: FinishedRequests[],
  unit: 'rows' | 'bytes',
  most: number,
): Promise<void> {
  let total = kept.reduce((sum, owner) => sum + owner[unit], 0);
  while (total > most) {
    kept.sort((a, b) => b[unit] - a[unit]);
    const [largest] = kept;
    if (largest === undefined) return;
    const forgotten = await log.forget(Number.MAX_SAFE_INTEGER, FORGET_ROWS, largest.ownerId);
    if (forgotten.rows === 0) return;
    kept[0] = {
      ownerId: largest.ownerId,
      rows: largest.rows - forgotten.rows,
      bytes: largest.bytes - forgotten.bytes,
    };
    total -= forgotten[unit];
    await setImmediate();
  }
}
