import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { Rate } from './rate.ts';

describe('the rate of an instance', () => {
  it('is its own', () => {
    const rate = new Rate();
    expect(rate.take(1, 1, 0)).toBeUndefined();
    expect(rate.take(2, 1, 0)).toBeUndefined();
    expect(rate.take(1, 1, 999)?.problem).toBe('rate-limited');
    expect(rate.take(1, 1, 1998)).toBeUndefined();
  });

  it('is not counted where there is no limit', () => {
    const rate = new Rate();
    for (let instance = 0; instance < 10; instance++) {
      expect(rate.take(instance, 0, 0)).toBeUndefined();
    }
    expect(rate.size).toBe(0);
  });

  it('is remembered for those of the last second only', () => {
    const rate = new Rate();
    for (let instance = 0; instance < 100_000; instance++) rate.take(instance, 1, instance);
    expect(rate.size).toBeLessThan(4000);
  });

  it('is not forgotten while it is used, however many others there are', () => {
    const rate = new Rate();
    for (let nowMs = 0; nowMs < 10_000; nowMs += 500) {
      // Half of what it may, and then all that is left.
      expect(rate.take(0, 2, nowMs)).toBeUndefined();
      for (let other = 1; other <= 1000; other++) rate.take(nowMs * 1000 + other, 1, nowMs);
    }
    expect(rate.take(0, 2, 9_500)).toBeUndefined();
    expect(rate.take(0, 2, 9_500)?.problem).toBe('rate-limited');
  });

  it('never lets through more than a second and its burst, whoever else asks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ instance: fc.nat(3), waitMs: fc.nat(400) }), { maxLength: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (requests, perSecond) => {
          const rate = new Rate();
          const passed: number[] = [];
          let nowMs = 0;
          for (const { instance, waitMs } of requests) {
            nowMs += waitMs;
            if (rate.take(instance, perSecond, nowMs) === undefined && instance === 0) {
              passed.push(nowMs);
            }
          }
          for (const start of passed) {
            const inSecond = passed.filter((at) => at >= start && at < start + 1000).length;
            expect(inSecond).toBeLessThanOrEqual(2 * perSecond);
          }
        },
      ),
    );
  });
});
