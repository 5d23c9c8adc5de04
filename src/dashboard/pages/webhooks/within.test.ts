import { expect, it } from 'bun:test';
import { within } from './within.ts';

const durations = (...counts: readonly number[]) =>
  counts.map((attempts, place) => ({ upToMs: [10, 100, 1000, null][place] ?? null, attempts }));

it('is the time in which a share of the attempts was over', () => {
  const all = durations(50, 44, 1, 5);
  expect([0.5, 0.51, 0.95, 0.96].map((share) => within(all, share))).toEqual([10, 100, 1000, null]);
  expect(within(durations(0, 3, 0, 0), 0.95)).toBe(100);
});

it('is unknown without attempts', () => {
  expect(within(durations(0, 0, 0, 0), 0.5)).toBeUndefined();
});
