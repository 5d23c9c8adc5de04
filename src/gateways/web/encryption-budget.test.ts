import { expect, it } from 'bun:test';
import { EncryptionBudget } from './encryption-budget.ts';

it('lets 32 messages be encrypted in one turn of the event loop, in order of arrival', async () => {
  const budget = new EncryptionBudget();
  const done: number[] = [];
  let loopTurns = 0;
  const seenAt: number[] = [];
  let isCounting = true;
  const count = () => {
    loopTurns++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);

  await Promise.all(
    Array.from({ length: 100 }, async (_, number) => {
      const turn = budget.take({ owner: budget, isTrusted: true });
      if (turn !== undefined) await turn;
      done.push(number);
      seenAt.push(loopTurns);
    }),
  );
  isCounting = false;

  expect(done).toEqual(Array.from({ length: 100 }, (_, number) => number));
  for (const turn of new Set(seenAt)) {
    expect(seenAt.filter((seen) => seen === turn).length).toBeLessThanOrEqual(32);
  }
});
