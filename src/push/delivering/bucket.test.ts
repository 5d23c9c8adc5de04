import { describe, expect, it } from 'bun:test';
import { Bucket, type Rate } from './bucket.ts';

/** Takes as much as it may for a while, and gives how much that was in each second. */
function takenBySecond(rate: Rate, seconds: number, startMs = 0, bucket = new Bucket(rate, 0)) {
  const taken = Array<number>(seconds).fill(0);
  for (let nowMs = startMs; nowMs < startMs + seconds * 1000; ) {
    const waitMs = bucket.waitMs(nowMs);
    if (waitMs > 0) {
      nowMs += waitMs;
      continue;
    }
    bucket.take();
    const second = Math.floor((nowMs - startMs) / 1000);
    taken[second] = (taken[second] ?? 0) + 1;
  }
  return taken;
}

describe('a bucket', () => {
  it('gives a second of it at once, and then so many a second', () => {
    const [first = 0, ...rest] = takenBySecond({ perSecond: 100, rampMs: 0 }, 10);
    expect(first).toBeGreaterThanOrEqual(199);
    expect(first).toBeLessThanOrEqual(200);
    for (const taken of rest) expect(Math.abs(taken - 100)).toBeLessThanOrEqual(1);
  });

  it('reaches its rate over a minute', () => {
    const taken = takenBySecond({ perSecond: 1_000, rampMs: 60_000 }, 70);
    expect(taken[0]).toBeLessThan(250);
    expect(Math.abs((taken[30] ?? 0) - 550)).toBeLessThan(30);
    expect(Math.abs((taken[65] ?? 0) - 1_000)).toBeLessThan(10);
    // Nowhere is there a step that a gateway would feel.
    for (const [second, more] of taken.entries()) {
      if (second > 1) expect(more - (taken[second - 1] ?? 0)).toBeLessThan(30);
    }
  });

  it('begins slowly again after a long pause, and not after a short one', () => {
    const rate = { perSecond: 1_000, rampMs: 60_000 };
    const bucket = new Bucket(rate, 0);
    takenBySecond(rate, 61, 0, bucket);
    expect(takenBySecond(rate, 2, 90_000, bucket)[1]).toBeGreaterThan(950);
    expect(takenBySecond(rate, 2, 200_000, bucket)[1]).toBeLessThan(250);
  });

  it('lets at least one through, however low its rate is', () => {
    const bucket = new Bucket({ perSecond: 0.5, rampMs: 0 }, 0);
    expect(bucket.waitMs(0)).toBe(0);
    bucket.take();
    expect(bucket.waitMs(0)).toBe(2_000);
    expect(bucket.waitMs(2_000)).toBe(0);
  });

  it('goes on after its clock was set back', () => {
    const bucket = new Bucket({ perSecond: 1, rampMs: 0 }, 1_000_000);
    bucket.take();
    expect(bucket.waitMs(0)).toBe(1_000);
    expect(bucket.waitMs(1_000)).toBe(0);
  });
});
