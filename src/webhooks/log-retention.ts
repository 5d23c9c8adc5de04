import { setImmediate } from 'node:timers/promises';
import { FORGET_ROWS, LOG_BYTES_MAX, LOG_ROWS_MAX } from './limits.ts';
import type { FinishedRequests, OutboxLog } from './outbox.ts';

const DAY_MS = 86_400_000;

/**
 * Deletes finished requests older than `logDays`. Beyond the log's row and byte limits, also deletes the oldest of
 * the largest owner. Uses small commits and lets other work run between them.
 */
export async function enforceLogRetention(
  log: OutboxLog,
  logDays: number,
  nowMs: number,
): Promise<void> {
  // 0 days delete everything, whatever the clock says.
  const finishedBeforeMs = logDays === 0 ? Number.MAX_SAFE_INTEGER : nowMs + 1 - logDays * DAY_MS;
  const limit = FORGET_ROWS;
  while ((await log.forget({ finishedBeforeMs, limit })).rows === limit) await setImmediate();

  const kept = [...(await log.finished())];
  await forgetSurplus(log, kept, 'rows');
  await forgetSurplus(log, kept, 'bytes');
}

const logMax = { rows: LOG_ROWS_MAX, bytes: LOG_BYTES_MAX };

/** Deletes until all owners together are within the limit. Keeps `kept` up to date. */
async function forgetSurplus(
  log: OutboxLog,
  kept: FinishedRequests[],
  unit: 'rows' | 'bytes',
): Promise<void> {
  let total = kept.reduce((sum, owner) => sum + owner[unit], 0);
  while (total > logMax[unit]) {
    kept.sort((a, b) => b[unit] - a[unit]);
    const [largest] = kept;
    if (largest === undefined) return;
    const forgotten = await log.forget({
      finishedBeforeMs: Number.MAX_SAFE_INTEGER,
      limit: FORGET_ROWS,
      ownerId: largest.ownerId,
    });
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
