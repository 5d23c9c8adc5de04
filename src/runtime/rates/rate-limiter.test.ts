import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { RateLimiter } from './rate-limiter.ts';
import { perSecond } from './token-bucket.ts';

describe('a rate limiter', () => {
  it('keeps a bucket for each key', () => {
    const rates = new RateLimiter<string>();
    expect(rates.take('a', perSecond(1), 0)).toBe(true);
    expect(rates.take('b', perSecond(1), 0)).toBe(true);
    expect(rates.take('a', perSecond(1), 999)).toBe(false);
    expect(rates.take('a', perSecond(1), 1998)).toBe(true);
  });

  it('forgets keys whose buckets are full again', () => {
    const rates = new RateLimiter<number>();
    for (let key = 0; key < 100_000; key++) rates.take(key, perSecond(1), key);
    expect(rates.size).toBeLessThan(4000);
  });

  it('keeps a key in use beside any number of others', () => {
    const rates = new RateLimiter<number>();
    for (let nowMs = 0; nowMs < 10_000; nowMs += 500) {
      // Takes half of the rate, and then all that is left.
      expect(rates.take(0, perSecond(2), nowMs)).toBe(true);
      for (let other = 1; other <= 1000; other++) {
        rates.take(nowMs * 1000 + other, perSecond(1), nowMs);
      }
    }
    expect(rates.take(0, perSecond(2), 9_500)).toBe(true);
    expect(rates.take(0, perSecond(2), 9_500)).toBe(false);
  });

  it('forgets the least recently used key at its limit', () => {
    const rates = new RateLimiter<number>(10);
    for (let key = 0; key < 1000; key++) {
      rates.take(key, perSecond(1), 0);
      expect(rates.take(0, perSecond(1), 0)).toBe(false);
    }
    expect(rates.size).toBe(10);
  });

  it('never allows more than the rate and one burst, whatever other keys do', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ key: fc.nat(3), waitMs: fc.nat(400) }), { maxLength: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (requests, count) => {
          const rates = new RateLimiter<number>();
          const passed: number[] = [];
          let nowMs = 0;
          for (const { key, waitMs } of requests) {
            nowMs += waitMs;
            if (rates.take(key, perSecond(count), nowMs) && key === 0) passed.push(nowMs);
          }
          for (const start of passed) {
            const inSecond = passed.filter((at) => at >= start && at < start + 1000).length;
            expect(inSecond).toBeLessThanOrEqual(2 * count);
          }
        },
      ),
    );
  });
});
