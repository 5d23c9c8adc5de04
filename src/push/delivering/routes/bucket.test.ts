import { describe, expect, it } from 'bun:test';
import { Bucket, type Rate } from './bucket.ts';
import { defaultRates } from './gateway-rates.ts';

/** Takes as much as it may for a while, and gives how much that was in each second. */
function takenBySecond(rate: Rate, seconds: number) {
  const bucket = new Bucket(rate, 0);
  const taken = Array<number>(seconds).fill(0);
  for (let nowMs = 0; nowMs < seconds * 1000; ) {
    const waitMs = bucket.waitMs(nowMs);
    if (waitMs > 0) {
      nowMs += waitMs;
      continue;
    }
    bucket.take();
    const second = Math.floor(nowMs / 1000);
    taken[second] = (taken[second] ?? 0) + 1;
  }
  return taken;
}

describe('a bucket', () => {
  it('gives a second of it at once, and then so many a second', () => {
    const [first = 0, ...rest] = takenBySecond({ perSecond: 100 }, 10);
    expect(first).toBeGreaterThanOrEqual(199);
    expect(first).toBeLessThanOrEqual(200);
    for (const taken of rest) expect(Math.abs(taken - 100)).toBeLessThanOrEqual(1);
  });

  it('lets at least one through, however low its rate is', () => {
    const bucket = new Bucket({ perSecond: 0.5 }, 0);
    expect(bucket.waitMs(0)).toBe(0);
    bucket.take();
    expect(bucket.waitMs(0)).toBe(2_000);
    expect(bucket.waitMs(2_000)).toBe(0);
  });

  it('goes on after its clock was set back', () => {
    const bucket = new Bucket({ perSecond: 1 }, 1_000_000);
    bucket.take();
    expect(bucket.waitMs(0)).toBe(1_000);
    expect(bucket.waitMs(1_000)).toBe(0);
  });
});

describe('the default rates', () => {
  it('let one publish use all that a process can send, about 120,000 in a second', () => {
    for (const platform of ['apns', 'fcm'] as const) {
      const [first = 0, second = 0] = takenBySecond(defaultRates[platform], 2);
      expect(first).toBeGreaterThanOrEqual(200_000);
      expect(second).toBeGreaterThan(120_000);
    }
    // Each is encrypted, which takes some 60 µs.
    expect(takenBySecond(defaultRates.web, 2)[1]).toBeGreaterThan(20_000);
  });
});
