import { expect, it } from 'bun:test';
import type { OutboxLog } from '../channels/outbox.ts';
import { cleanLog } from './cleaning.ts';
import { LOG_BYTES_MAX, LOG_ROWS_MAX } from './limits.ts';

/** A log of finished requests of so many bytes each, all finished at 1000, that can only be forgotten. */
function logOf(rows: number, bytesEach: number): OutboxLog & { left(): number } {
  let left = rows;
  const unused = () => Promise.reject(new Error('not used here'));
  return {
    list: unused,
    show: unused,
    replay: unused,
    left: () => left,
    finished: async () => ({ rows: left, bytes: left * bytesEach }),
    async forget(beforeMs, limit) {
      const gone = beforeMs > 1_000 ? Math.min(left, limit) : 0;
      left -= gone;
      return { rows: gone, bytes: gone * bytesEach };
    },
  };
}

it('keeps what is neither old nor too much', async () => {
  const log = logOf(LOG_ROWS_MAX, 1);
  await cleanLog(log, 7, 2_000);
  expect(log.left()).toBe(LOG_ROWS_MAX);
});

it('forgets the oldest beyond the rows and the bytes that the log may have', async () => {
  const rows = logOf(LOG_ROWS_MAX + 750, 1);
  await cleanLog(rows, 7, 2_000);
  expect(rows.left()).toBe(LOG_ROWS_MAX - 250);

  const bytes = logOf(1_000, LOG_BYTES_MAX / 800);
  await cleanLog(bytes, 7, 2_000);
  expect(bytes.left()).toBe(500);
});

it('forgets everything that is old, however much it is', async () => {
  const log = logOf(1_234, 1);
  await cleanLog(log, 1, 1_000 + 86_400_000);
  expect(log.left()).toBe(0);
});
