import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { Pace } from './pace.ts';

const NOW_MS = 1_800_000_000_000;

describe('the pace of a publish', () => {
  it('sends pages one after the other', () => {
    const pace = new Pace(5000);
    const times = [1000, 1000, 500, 1000].map((devices) => pace.take(NOW_MS, devices) - NOW_MS);
    expect(times).toEqual([0, 200, 400, 500]);
    expect(pace.freeFrom(NOW_MS)).toBe(NOW_MS + 700);
  });

  it('continues with what was kept, exactly', () => {
    const whole = new Pace(3000);
    let parts = new Pace(3000);
    for (let page = 0; page < 3000; page++) {
      parts = new Pace(3000, JSON.parse(JSON.stringify(parts.taken)));
      expect(parts.take(NOW_MS, 1000)).toBe(whole.take(NOW_MS, 1000));
    }
    expect(whole.freeFrom(NOW_MS)).toBe(NOW_MS + 1_000_000);
  });

  it('does not make up for time that has passed', () => {
    const pace = new Pace(1000);
    pace.take(NOW_MS, 1000);
    expect(pace.take(NOW_MS + 60_000, 1000)).toBe(NOW_MS + 60_000);
    expect(pace.take(NOW_MS + 60_000, 1000)).toBe(NOW_MS + 61_000);
  });

  it('uses the time before devices that wait for a time of their own', () => {
    const pace = new Pace(1000);
    expect(pace.take(NOW_MS + 10_000, 1000)).toBe(NOW_MS + 10_000);
    expect(pace.take(NOW_MS, 1000)).toBe(NOW_MS);
    expect(pace.take(NOW_MS + 10_000, 1000)).toBe(NOW_MS + 11_000);
    expect(pace.take(NOW_MS, 9500)).toBe(NOW_MS + 1000);
    // The half second that overlaps is made up for at the end.
    expect(pace.take(NOW_MS, 1000)).toBe(NOW_MS + 12_500);
  });

  it('forgets what is over', () => {
    const pace = new Pace(1000);
    pace.take(NOW_MS, 1000);
    pace.take(NOW_MS + 5000, 1000);
    pace.forgetBefore(NOW_MS + 1000);
    expect(pace.taken).toEqual([[NOW_MS + 5000, NOW_MS + 6000]]);
  });

  it('never gives a time that is too early, and never more than one page beyond the rate', () => {
    const page = fc.record({ wantedMs: fc.nat(60_000), devices: fc.integer({ min: 1, max: 100 }) });
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 2000 }), fc.array(page), (perSecond, pages) => {
        const pace = new Pace(perSecond);
        const sent = pages.map(({ wantedMs, devices }) => {
          const atMs = pace.take(wantedMs, devices);
          expect(atMs).toBeGreaterThanOrEqual(wantedMs);
          return { atMs, devices };
        });
        for (const { atMs: fromMs } of sent) {
          for (const windowMs of [1000, 10_000]) {
            const within = sent.filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + windowMs);
            const devices = within.reduce((sum, one) => sum + one.devices, 0);
            // One page at each end, and one for each gap within, which may be shorter than its page.
            const gaps = pace.taken.length;
            expect(devices).toBeLessThanOrEqual((perSecond * windowMs) / 1000 + (2 + gaps) * 100);
          }
        }
      }),
    );
  });
});
