import { expect, it } from 'bun:test';
import { Turns } from './turns.ts';

it('gives two who ask again and again a turn each, and never both', async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const ask = async (name: string) => {
    for (let step = 0; step < 3; step += 1) {
      await turns.take(async () => {
        seen.push(`${name} begins`);
        await Promise.resolve();
        seen.push(`${name} ends`);
      });
    }
  };
  await Promise.all([ask('a'), ask('b')]);
  const turn = (name: string) => [`${name} begins`, `${name} ends`];
  expect(seen).toEqual(['a', 'b', 'a', 'b', 'a', 'b'].flatMap(turn));
});

it('goes on after one that failed, which hears of it', async () => {
  const turns = new Turns();
  const failed = turns.take(() => Promise.reject(new Error('no')));
  const next = turns.take(async () => 'next');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('next');
});
