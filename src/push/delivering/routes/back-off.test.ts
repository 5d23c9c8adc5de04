import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { BACK_OFF_MS_MAX, BACK_OFF_MS_MIN, backOffMs } from './back-off.ts';

describe('the pause before the next attempt', () => {
  it('is one second at least, and at most twice as long each time', () => {
    const longest = [1, 2, 3, 4, 9, 10, 11, 1_000].map((attempts) =>
      backOffMs(attempts, undefined, 0.999_999_9),
    );
    expect(longest).toEqual([2_000, 4_000, 8_000, 16_000, 512_000, 900_000, 900_000, 900_000]);
    expect([1, 5, 20].map((attempts) => backOffMs(attempts, undefined, 0))).toEqual([
      1_000, 1_000, 1_000,
    ]);
  });

  it('is as long as the gateway asks for, and somewhat more, so that not all come back at once', () => {
    expect(backOffMs(1, 60_000, 0)).toBe(60_000);
    expect(backOffMs(1, 60_000, 0.5)).toBe(63_000);
    expect(backOffMs(1, 24 * 3_600_000, 0)).toBe(24 * 3_600_000);
  });

  it('is not shorter than its own where the gateway asks for less', () => {
    expect(backOffMs(4, 10, 0.5)).toBe(backOffMs(4, undefined, 0.5));
  });

  it('is always within its bounds', () => {
    const random = fc.double({ min: 0, max: 0.999_999, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), random, (attempts, random) => {
        const ms = backOffMs(attempts, undefined, random);
        return Number.isInteger(ms) && ms >= BACK_OFF_MS_MIN && ms <= BACK_OFF_MS_MAX;
      }),
    );
  });
});
