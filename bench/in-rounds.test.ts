import { expect, it } from 'bun:test';
import { inRounds } from './in-rounds.ts';

it('measures every second round in reverse order, and keeps the results in order', async () => {
  const order: string[] = [];
  const found = await inRounds(2, ['one', 'two'], async (key) => order.push(key));
  expect(order).toEqual(['one', 'two', 'two', 'one']);
  expect(found).toEqual({ one: [1, 4], two: [2, 3] });
});
