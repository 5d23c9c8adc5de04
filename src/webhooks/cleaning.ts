import { setImmediate } from 'node:timers/promises';
import type { OutboxLog } from '../channels/outbox.ts';
import { FORGET_ROWS, LOG_BYTES_MAX, LOG_ROWS_MAX } from './limits.ts';

const DAY_MS = 86_400_000;

/**
 * Deletes what the log no longer keeps: finished requests older than `logDays`, and the oldest beyond the
 * log's bounds. One small commit after the other, and others get their turn in between.
 */
export async function cleanLog(log: OutboxLog, logDays: number, nowMs: number): Promise<void> {
  // One millisecond on, so that with 0 days everything goes.
  const beforeMs = nowMs + 1 - logDays * DAY_MS;
  while ((await log.forget(beforeMs, FORGET_ROWS)).rows === FORGET_ROWS) await setImmediate();

  let { rows, bytes } = await log.finished();
  while (rows > LOG_ROWS_MAX || bytes > LOG_BYTES_MAX) {
    const forgotten = await log.forget(Number.MAX_SAFE_INTEGER, FORGET_ROWS);
    if (forgotten.rows === 0) return;
    rows -= forgotten.rows;
    bytes -= forgotten.bytes;
    await setImmediate();
  }
}
