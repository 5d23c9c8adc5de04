import { expect, it } from 'bun:test';
import { FORGET_ROWS, LOG_BYTES_MAX, LOG_ROWS_MAX } from './limits.ts';
import { enforceLogRetention } from './log-retention.ts';
import type { OutboxLog } from './outbox.ts';

/** A log of requests of equal size, finished at 1000, that can only be deleted. */
function logOf(rowsOf: Readonly<Record<string, number>>, bytesEach: number) {
  const left = new Map(Object.entries(rowsOf));
  const unused = () => Promise.reject(new Error('not used here'));
  const log: OutboxLog = {
    list: unused,
    show: unused,
    replay: unused,
    finished: async () =>
      [...left].map(([ownerId, rows]) => ({ ownerId, rows, bytes: rows * bytesEach })),
    async forget({ finishedBeforeMs, limit, ownerId }) {
      let rows = 0;
      for (const [owner, had] of left) {
        if (finishedBeforeMs <= 1_000 || (ownerId ?? owner) !== owner) continue;
        const gone = Math.min(had, limit - rows);
        left.set(owner, had - gone);
        rows += gone;
      }
      return { rows, bytes: rows * bytesEach };
    },
  };
  return { log, left: () => Object.fromEntries(left) };
}

it('keeps requests within the limits', async () => {
  const { log, left } = logOf({ app: LOG_ROWS_MAX }, 1);
  await enforceLogRetention(log, 7, 2_000);
  expect(left()).toEqual({ app: LOG_ROWS_MAX });
});

it('deletes beyond the row limit, only of the owner that has most', async () => {
  const { log, left } = logOf({ small: 10_000, large: LOG_ROWS_MAX - 10_000 + 750 }, 1);
  await enforceLogRetention(log, 7, 2_000);
  expect(left()).toEqual({ small: 10_000, large: LOG_ROWS_MAX - 10_000 + 750 - 2 * FORGET_ROWS });
});

it('deletes beyond the byte limit, until the largest owners are equal', async () => {
  const { log, left } = logOf({ small: 100, large: 2_000, larger: 2_500 }, LOG_BYTES_MAX / 1_600);
  await enforceLogRetention(log, 7, 2_000);
  expect(left()).toEqual({ small: 100, large: 1_000, larger: 500 });
});

it('deletes all old requests', async () => {
  const { log, left } = logOf({ app: 1_234, other: 5 }, 1);
  await enforceLogRetention(log, 1, 1_000 + 86_400_000);
  expect(left()).toEqual({ app: 0, other: 0 });
});
