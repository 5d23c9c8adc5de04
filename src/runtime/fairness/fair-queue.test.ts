import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FairQueue } from './fair-queue.ts';

const ONE = { items: 1, bytes: 1 };

const itemsOf = (taken: readonly { item: number | string }[]) => taken.map(({ item }) => item);

describe('a fair queue', () => {
  it('takes entries from owners in turn, and those of one owner in order', () => {
    const queue = new FairQueue<string>({ items: 100, bytes: 100 });
    for (const item of ['a1', 'a2', 'a3']) queue.push('a', item, ONE);
    for (const item of ['b1', 'b2']) queue.push('b', item, ONE);
    expect(itemsOf(queue.take(2))).toEqual(['a1', 'b1']);
    queue.push('c', 'c1', ONE);
    expect(itemsOf(queue.take())).toEqual(['a2', 'b2', 'c1', 'a3']);
    expect(queue.isEmpty).toBe(true);
    expect(queue.total).toEqual({ items: 0, bytes: 0 });
  });

  it('takes no more entries once the byte limit is reached', () => {
    const queue = new FairQueue<string>({ items: 100, bytes: 100 });
    for (const item of ['a1', 'a2', 'a3']) queue.push('a', item, { items: 1, bytes: 5 });
    queue.push('b', 'b1', ONE);
    expect(itemsOf(queue.take(10, 6))).toEqual(['a1', 'b1']);
    expect(itemsOf(queue.take(10, 0))).toEqual([]);
    expect(itemsOf(queue.take(10, 6))).toEqual(['a2', 'a3']);
  });

  it('drops the newest entry of the largest owner when it is full', () => {
    const queue = new FairQueue<string>({ items: 4, bytes: 100 });
    for (const item of ['a1', 'a2', 'a3', 'a4']) expect(queue.push('a', item, ONE)).toEqual([]);
    expect(queue.push('b', 'b1', ONE)).toEqual([{ owner: 'a', item: 'a4', weight: ONE }]);
    expect(queue.push('a', 'a5', ONE)).toEqual([{ owner: 'a', item: 'a5', weight: ONE }]);
    expect(itemsOf(queue.take())).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('may be full by bytes as well', () => {
    const queue = new FairQueue<string>({ items: 100, bytes: 10 });
    queue.push('a', 'large', { items: 1, bytes: 9 });
    expect(queue.push('b', 'small', { items: 1, bytes: 2 })).toMatchObject([{ item: 'large' }]);
    expect(queue.push('b', 'too large', { items: 1, bytes: 11 })).toMatchObject([
      { item: 'too large' },
    ]);
    expect(itemsOf(queue.take())).toEqual(['small']);
  });

  it('drops nothing of an owner that stays below its share', () => {
    const greedy = fc.constantFrom('x', 'y', 'z');
    fc.assert(
      fc.property(fc.array(greedy, { minLength: 50, maxLength: 300, size: 'max' }), (pushes) => {
        const queue = new FairQueue<number>({ items: 40, bytes: 40 });
        const lost: string[] = [];
        for (const [index, owner] of pushes.entries()) {
          for (const { owner: whose } of queue.push(owner, index, ONE)) lost.push(whose);
          // The honest owner never has more than 5 entries waiting; its share is 10.
          if (index % 10 === 0) {
            for (const { owner: whose } of queue.push('honest', index, ONE)) lost.push(whose);
          }
          if (index % 50 === 49) queue.take();
        }
        expect(lost).not.toContain('honest');
      }),
    );
  });

  it('never holds more than its capacity', () => {
    const step = fc.record({
      owner: fc.constantFrom('a', 'b', 'c'),
      bytes: fc.integer({ min: 0, max: 12 }),
      take: fc.integer({ min: -3, max: 3 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const queue = new FairQueue<number>({ items: 8, bytes: 30 });
        let pushed = 0;
        let gone = 0;
        for (const [index, { owner, bytes, take }] of steps.entries()) {
          pushed++;
          gone += queue.push(owner, index, { items: 1, bytes }).length;
          if (take > 0) gone += queue.take(take).length;
          expect(queue.total.items).toBe(pushed - gone);
          expect(queue.total.items).toBeLessThanOrEqual(8);
          expect(queue.total.bytes).toBeLessThanOrEqual(30);
        }
        gone += queue.take().length;
        expect(gone).toBe(pushed);
        expect(queue.total).toEqual({ items: 0, bytes: 0 });
      }),
    );
  });
});
