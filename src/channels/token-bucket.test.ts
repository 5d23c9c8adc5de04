import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { TokenBucket } from './token-bucket.ts';

/** How many of so many tries at one time succeed. */
function taken(bucket: TokenBucket, perSecond: number, nowMs: number, tries = 100): number {
  let count = 0;
  for (let index = 0; index < tries; index++) if (bucket.take(perSecond, nowMs)) count++;
  return count;
}

describe('a token bucket of 10 per second', () => {
  it('gives 10 at once, and no 11th', () => {
    expect(taken(new TokenBucket(10, 0), 10, 0)).toBe(10);
  });

  it('gives one each tenth of a second after that', () => {
    const bucket = new TokenBucket(10, 5000);
    taken(bucket, 10, 5000);

    expect(taken(bucket, 10, 5099)).toBe(0);
    expect(taken(bucket, 10, 5100)).toBe(1);
    expect(taken(bucket, 10, 5350)).toBe(2);
    expect(taken(bucket, 10, 5400)).toBe(1);
  });

  it('never holds more than 10, however long nobody takes one', () => {
    const bucket = new TokenBucket(10, 0);
    taken(bucket, 10, 0);

    expect(taken(bucket, 10, 3_600_000)).toBe(10);
  });

  it('gives nothing for a clock that was set back, and goes on from there', () => {
    const bucket = new TokenBucket(10, 60_000);
    taken(bucket, 10, 60_000);

    expect(taken(bucket, 10, 0)).toBe(0);
    expect(taken(bucket, 10, 1000)).toBe(10);
  });

  it('follows its rate when that is changed', () => {
    const bucket = new TokenBucket(10, 0);

    expect(taken(bucket, 2, 0)).toBe(2);
    expect(taken(bucket, 50, 1000)).toBe(50);
  });

  it('lets through no more than its rate and once as much, in whatever stretch of time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.nat({ max: 700 }), { minLength: 1, maxLength: 100 }),
        (perSecond, pausesMs) => {
          const bucket = new TokenBucket(perSecond, 0);
          let nowMs = 0;
          let through = 0;
          for (const pauseMs of pausesMs) {
            nowMs += pauseMs;
            through += taken(bucket, perSecond, nowMs, 7);
          }
          expect(through).toBeLessThanOrEqual(perSecond + (perSecond * nowMs) / 1000 + 1e-6);
        },
      ),
    );
  });

  it('never refuses who stays below its rate', () => {
    const bucket = new TokenBucket(10, 0);
    for (let nowMs = 0; nowMs < 60_000; nowMs += 101) expect(bucket.take(10, nowMs)).toBe(true);
  });
});
