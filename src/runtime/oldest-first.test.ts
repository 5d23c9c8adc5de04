import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { OldestFirst } from './oldest-first.ts';

it('finds the key that was set longest ago, whatever is set again or deleted', () => {
  // 0: clears it. Negative: deletes a key. Above 12: asks for the oldest one.
  const changes = fc.array(fc.integer({ min: -12, max: 20 }), { maxLength: 200 });
  fc.assert(
    fc.property(changes, (keys) => {
      const map = new OldestFirst<number, number>();
      let model: number[] = [];
      for (const [value, key] of keys.entries()) {
        if (key > 12) {
          expect(map.oldest()).toBe(model[0]);
          continue;
        }
        model = key === 0 ? [] : model.filter((one) => one !== Math.abs(key));
        if (key > 0) model.push(key);
        if (key === 0) map.clear();
        else if (key < 0) map.delete(-key);
        else map.set(key, value);
        expect([...map.keys()]).toEqual(model);
      }
      for (let left = model.length; left > 0; left--) {
        const oldest = map.oldest() ?? 0;
        expect(oldest).toBe(model.shift() ?? -1);
        map.delete(oldest);
      }
      expect(map.oldest()).toBeUndefined();
    }),
  );
});
