import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { Histogram } from './histogram.ts';

it('returns every percentile to within 1.6 % or a microsecond, and never too low', () => {
  const durations = fc.array(fc.double({ min: 0, max: 100_000, noNaN: true }), { minLength: 1 });
  fc.assert(
    fc.property(durations, fc.constantFrom(0.5, 0.99, 0.999, 1), (recorded, share) => {
      const histogram = new Histogram();
      for (const ms of recorded) histogram.record(ms);
      const exact = recorded.toSorted((a, b) => a - b)[Math.ceil(recorded.length * share) - 1] ?? 0;

      expect(histogram.quantileMs(share)).toBeGreaterThanOrEqual(exact - 0.001);
      expect(histogram.quantileMs(share)).toBeLessThanOrEqual(exact * 1.016 + 0.001);
    }),
  );
});

it('returns the longest duration exactly', () => {
  const histogram = new Histogram();
  histogram.record(3.25);
  histogram.record(1234.5678);
  expect(histogram.maxMs).toBe(1234.5678);
  expect(histogram.count).toBe(2);
});
