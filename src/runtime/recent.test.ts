import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { Recent, RecentSet } from './recent.ts';

const MAX = 5;

/** 0: clears it. Negative: deletes a key. */
const changes = fc.array(fc.integer({ min: -12, max: 12 }), { maxLength: 200 });

it('keeps the keys that were set last, with their last values, whatever is deleted', () => {
  fc.assert(
    fc.property(changes, (keys) => {
      const recent = new Recent<number, number>(MAX);
      let model: (readonly [number, number])[] = [];
      for (const [value, key] of keys.entries()) {
        model = key === 0 ? [] : model.filter(([one]) => one !== Math.abs(key));
        if (key === 0) recent.clear();
        else if (key < 0) recent.delete(-key);
        else {
          recent.set(key, value);
          model = [...model, [key, value] as const].slice(-MAX);
        }
        expect([...recent]).toEqual(model.map(([one, last]): [number, number] => [one, last]));
      }
    }),
  );
});

it('keeps no key that was taken', () => {
  const recent = new Recent<string, number>(2);
  recent.set('a', 1).set('b', 2);
  expect(recent.take('a')).toBe(1);
  expect(recent.take('a')).toBeUndefined();
  recent.set('c', 3);
  expect([...recent.keys()]).toEqual(['b', 'c']);
});

it('keeps the members that were added last', () => {
  const recent = new RecentSet<number>(2);
  for (const member of [1, 2, 1, 3]) recent.add(member);
  expect([1, 2, 3].map((member) => recent.has(member))).toEqual([true, false, true]);
  expect(recent.takeAll()).toEqual([1, 3]);
  expect(recent.size).toBe(0);
});
