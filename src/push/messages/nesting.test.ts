import { expect, it } from 'bun:test';
import { nestsDeeperThan } from './nesting.ts';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

it('counts the levels of arrays and objects inside a value', () => {
  expect(nestsDeeperThan('text', 0)).toBe(false);
  expect(nestsDeeperThan({ a: 1 }, 0)).toBe(false);
  expect(nestsDeeperThan({ a: {} }, 0)).toBe(true);
  expect(nestsDeeperThan([{ a: [] }], 1)).toBe(true);
  expect(nestsDeeperThan([{ a: [] }], 2)).toBe(false);
  expect(nestsDeeperThan([null, [], {}], 1)).toBe(false);
  expect(nestsDeeperThan(nested(101), 100)).toBe(false);
  expect(nestsDeeperThan(nested(102), 100)).toBe(true);
  expect(nestsDeeperThan(nested(100_000), 2048)).toBe(true);
});
