import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { Graph } from './graph.ts';
import { Ints, NONE, Times } from './lists.ts';
import { Texts } from './texts.ts';

describe('a list of numbers', () => {
  it('has what was put into it, over the borders of its chunks', () => {
    const ints = new Ints();
    const times = new Times();
    for (let at = 0; at < 40_000; at++) {
      ints.push(at);
      times.push(at / 2);
    }
    for (let at = 39_999; at >= 30_000; at--) expect(ints.pop()).toBe(at);
    ints.push(7);
    ints.set(50_000, 9);
    const at = [0, 16_384, 29_999, 30_000, 30_001, 49_999, 50_000, 50_001, NONE];
    const values = at.map((one) => ints.get(one));
    expect(values).toEqual([0, 16_384, 29_999, 7, NONE, NONE, 9, NONE, NONE]);
    let set = 0;
    ints.each(() => set++);
    expect(set).toBe(30_002);
    expect([times.length, times.get(16_385), times.get(39_999)]).toEqual([
      40_000, 8192.5, 19_999.5,
    ]);
  });
});

describe('numbers for texts', () => {
  it('are the same for the same text, and give it back', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 5 }), { maxLength: 3000 }), (given) => {
        const texts = new Texts();
        const numbers = given.map((text) => texts.add(text));
        expect(numbers.map((number) => texts.text(number))).toEqual(given);
        expect(given.map((text) => texts.find(text))).toEqual(numbers);
        expect(texts.size).toBe(new Set(given).size);
        expect(texts.find('not one of them')).toBe(NONE);
      }),
      { numRuns: 30 },
    );
  });
});

describe('lists that say what comes before what', () => {
  it('are sorted so that everything stands behind what follows it, and circles are found', () => {
    const edges = fc.array(fc.tuple(fc.nat(9), fc.nat(9)).filter(([from, to]) => from !== to));
    fc.assert(
      fc.property(edges, (pairs) => {
        const graph = new Graph();
        for (const [from, to] of pairs) {
          graph.add(from);
          graph.add(to);
          graph.end();
        }
        const { circle, order } = graph.sort(10);
        const reaches = (from: number, to: number, seen = new Set<number>()): boolean =>
          pairs.some(([a, b]) => {
            if (a !== from || seen.has(b)) return false;
            return b === to || reaches(b, to, seen.add(b));
          });
        expect([...order].sort((a, b) => a - b)).toEqual([...Array(10).keys()]);
        for (const [from, to] of pairs) {
          const isCircle = reaches(to, from);
          expect(circle[from] !== 0 && circle[from] === circle[to]).toBe(isCircle);
          if (!isCircle) expect(order.indexOf(to)).toBeLessThan(order.indexOf(from));
        }
      }),
    );
  });
});
