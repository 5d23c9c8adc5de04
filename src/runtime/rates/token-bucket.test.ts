import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { perSecond, TokenBucket } from './token-bucket.ts';

/** How many of several tries at one time succeed. */
function taken(bucket: TokenBucket, count: number, nowMs: number, tries = 100): number {
  let through = 0;
  for (let index = 0; index < tries; index++) if (bucket.take(perSecond(count), nowMs)) through++;
  return through;
}

describe('a token bucket of 10 per second', () => {
  it('allows 10 at once, but no 11th', () => {
    expect(taken(new TokenBucket(perSecond(10), 0), 10, 0)).toBe(10);
  });

  it('allows one each tenth of a second after that', () => {
    const bucket = new TokenBucket(perSecond(10), 5000);
    taken(bucket, 10, 5000);

    expect(taken(bucket, 10, 5099)).toBe(0);
    expect(taken(bucket, 10, 5100)).toBe(1);
    expect(taken(bucket, 10, 5350)).toBe(2);
    expect(taken(bucket, 10, 5400)).toBe(1);
  });

  it('never holds more than 10', () => {
    const bucket = new TokenBucket(perSecond(10), 0);
    taken(bucket, 10, 0);

    expect(taken(bucket, 10, 3_600_000)).toBe(10);
  });

  it('gains nothing when the clock is set back, and continues from there', () => {
    const bucket = new TokenBucket(perSecond(10), 60_000);
    taken(bucket, 10, 60_000);

    expect(taken(bucket, 10, 0)).toBe(0);
    expect(taken(bucket, 10, 1000)).toBe(10);
  });

  it('follows its rate when that is changed', () => {
    const bucket = new TokenBucket(perSecond(10), 0);

    expect(taken(bucket, 2, 0)).toBe(2);
    expect(taken(bucket, 50, 1000)).toBe(50);
  });

  it('never allows more than the rate and one burst in any period', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.nat({ max: 700 }), { minLength: 1, maxLength: 100 }),
        (count, pausesMs) => {
          const bucket = new TokenBucket(perSecond(count), 0);
          let nowMs = 0;
          let through = 0;
          for (const pauseMs of pausesMs) {
            nowMs += pauseMs;
            through += taken(bucket, count, nowMs, 7);
          }
          expect(through).toBeLessThanOrEqual(count + (count * nowMs) / 1000 + 1e-6);
        },
      ),
    );
  });

  it('never refuses below its rate', () => {
    const bucket = new TokenBucket(perSecond(10), 0);
    for (let nowMs = 0; nowMs < 60_000; nowMs += 101)
      expect(bucket.take(perSecond(10), nowMs)).toBe(true);
  });
});

it('allows a burst larger than the sustained rate', () => {
  const rate = { perSecond: 10, burst: 30 };
  const bucket = new TokenBucket(rate, 0);
  let through = 0;
  for (let index = 0; index < 100; index++) if (bucket.take(rate, 0)) through++;
  expect(through).toBe(30);
  expect(bucket.take(rate, 99)).toBe(false);
  expect(bucket.take(rate, 100)).toBe(true);
});
