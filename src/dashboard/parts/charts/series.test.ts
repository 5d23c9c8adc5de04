import { describe, expect, it } from 'bun:test';
import { stretches, thinned } from './series.ts';

describe('a line of a chart', () => {
  it('keeps a short peak when it has fewer points than values', () => {
    const values = Array.from({ length: 1000 }, (_, index) => (index === 517 ? 9 : 1));
    const points = thinned(values, 50);
    expect(points).toHaveLength(50);
    expect(Math.max(...points.map((value) => value ?? 0))).toBe(9);
  });

  it('breaks where a value is missing', () => {
    expect(stretches([1, null, null, 2, 3])).toEqual([
      [{ value: 1, index: 0 }],
      [
        { value: 2, index: 3 },
        { value: 3, index: 4 },
      ],
    ]);
  });
});
