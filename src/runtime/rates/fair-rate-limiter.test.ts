import { describe, expect, it } from 'bun:test';
import { FairRateLimiter } from './fair-rate-limiter.ts';
import type { Rate } from './token-bucket.ts';

/** 100 a second, with a burst of one minute. */
const RATE: Rate = { perSecond: 100, burst: 6_000 };
const FILL_MS = 60_000;

/** Takes tokens one by one until one is refused; returns how many it got. */
function drain(rates: FairRateLimiter<string>, member: string, nowMs: number): number {
  let taken = 0;
  while (rates.take({ group: 'group', member }, RATE, nowMs)) taken++;
  return taken;
}

describe('a rate limit shared by members', () => {
  it('gives one member half of a burst, and then all of the rate', () => {
    const rates = new FairRateLimiter<string>();
    expect(drain(rates, 'a', 0)).toBe(3_001);
    let taken = 0;
    for (let nowMs = 100; nowMs <= 2 * FILL_MS; nowMs += 100) taken += drain(rates, 'a', nowMs);
    expect(taken).toBeGreaterThan(11_900);
    expect(taken).toBeLessThanOrEqual(12_000);
  });

  it('gives a burst to many members that each take little', () => {
    const rates = new FairRateLimiter<string>();
    for (let member = 0; member < 6_000; member++) {
      expect(rates.take({ group: 'group', member: `${member}` }, RATE, 0)).toBe(true);
    }
    expect(rates.take({ group: 'group', member: 'another' }, RATE, 0)).toBe(false);
  });

  it('serves members that take little beside many greedy ones', () => {
    const rates = new FairRateLimiter<string>();
    const greedy = Array.from({ length: 20 }, (_, n) => `greedy ${n}`);
    let taken = 0;
    for (let nowMs = 0; nowMs <= 5 * FILL_MS; nowMs += 100) {
      for (const member of greedy) {
        const now = drain(rates, member, nowMs);
        if (nowMs >= 2 * FILL_MS) taken += now;
      }
      if (nowMs < 1_000) continue;
      // A new member every 100 ms, as when phones are switched on.
      for (let n = 0; n < 3; n++) {
        expect([
          nowMs,
          rates.take({ group: 'group', member: `new at ${nowMs}` }, RATE, nowMs),
        ]).toEqual([nowMs, true]);
      }
    }
    // What the new members left of three minutes.
    expect(taken).toBeGreaterThan(0.95 * 180 * 70);
  });

  it('gives equal shares to many greedy members', () => {
    const rates = new FairRateLimiter<string>();
    const rate: Rate = { perSecond: 5_000, burst: 300_000 };
    const taken = Array<number>(200).fill(0);
    for (let nowMs = 0; nowMs <= 8 * FILL_MS; nowMs += 500) {
      for (let n = 0; n < taken.length; n++) {
        while (rates.take({ group: 'group', member: `${n}` }, rate, nowMs, 10)) {
          if (nowMs >= 5 * FILL_MS) taken[n] = (taken[n] ?? 0) + 10;
        }
      }
    }
    expect(Math.max(...taken) / Math.min(...taken)).toBeLessThan(1.2);
  });

  it('serves a member that is 10,000 phones which arrive within an hour', () => {
    const rates = new FairRateLimiter<string>();
    const rate: Rate = { perSecond: 5_000, burst: 300_000 };
    for (let nowMs = 0; nowMs <= 20 * FILL_MS; nowMs += 360) {
      for (let n = 0; n < 20; n++) {
        while (rates.take({ group: 'group', member: `greedy ${n}` }, rate, nowMs, 500));
      }
      if (nowMs === 0) continue;
      // What one of them writes.
      expect([nowMs, rates.take({ group: 'group', member: 'carrier' }, rate, nowMs, 10)]).toEqual([
        nowMs,
        true,
      ]);
    }
  });

  it('leaves something for a new member after any number of others', () => {
    const rates = new FairRateLimiter<string>();
    for (let n = 0; n < 50; n++) drain(rates, `greedy ${n}`, 0);
    expect(drain(rates, 'new', 0)).toBeGreaterThanOrEqual(10);
  });

  it('keeps groups apart', () => {
    const rates = new FairRateLimiter<number>();
    while (rates.take({ group: 1, member: 'a' }, RATE, 0));
    expect(rates.take({ group: 2, member: 'a' }, RATE, 0, 6_000)).toBe(true);
  });

  it('allows a cost as large as the bucket', () => {
    const rates = new FairRateLimiter<string>();
    expect(rates.take({ group: 'group', member: 'a' }, RATE, 0, 6_000)).toBe(true);
    expect(rates.take({ group: 'group', member: 'a' }, RATE, 1_000)).toBe(false);
    expect(rates.take({ group: 'group', member: 'a' }, RATE, FILL_MS, 6_000)).toBe(true);
  });

  it('continues after the clock was set back', () => {
    const rates = new FairRateLimiter<string>();
    drain(rates, 'a', FILL_MS);
    expect(rates.take({ group: 'group', member: 'b' }, RATE, 0)).toBe(true);
    expect(rates.take({ group: 'group', member: 'a' }, RATE, 0)).toBe(false);
    expect(rates.take({ group: 'group', member: 'a' }, RATE, 2_000)).toBe(true);
  });

  it('forgets members that have taken nothing for a while, and the oldest beyond a number', () => {
    const rates = new FairRateLimiter<string>(100);
    for (let member = 0; member < 1_000; member++)
      rates.take({ group: 'group', member: `${member}` }, RATE, 0);
    expect(rates.size).toBe(100);
    rates.take({ group: 'group', member: 'later' }, RATE, 6 * FILL_MS);
    expect(rates.size).toBe(1);
  });
});
