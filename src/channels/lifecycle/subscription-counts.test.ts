import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { appWith, channelName, FakeClock } from '../hub.fixture.ts';
import { SubscriptionCounts } from './subscription-counts.ts';

/** Source: Channels protocol, §9. */

function stage() {
  const clock = new FakeClock();
  const startedAtMs = clock.now();
  const reported: { channel: string; count: number; atMs: number }[] = [];
  const counts = new SubscriptionCounts(clock, (_, channel, count) => {
    reported.push({ channel: channel.text, count, atMs: clock.now() - startedAtMs });
  });
  const app = appWith();
  return {
    clock,
    reported,
    counts: () => reported.splice(0).map(({ count }) => count),
    changed: (count: number, channel = 'news') => counts.changed(app, channelName(channel), count),
  };
}

describe('the number of subscriptions', () => {
  it('is sent with each change while it is at most 100', () => {
    const { clock, counts, changed } = stage();
    const up = Array.from({ length: 100 }, (_, n) => n + 1);
    for (const count of [...up, ...up.toReversed()]) {
      changed(count);
      clock.advance(200);
    }
    expect(counts()).toEqual([...up, ...up.toReversed()]);
  });

  it('is sent 5 times a second while it changes faster, and then the last one', () => {
    const { clock, reported, counts, changed } = stage();
    for (let count = 1; count <= 20; count++) changed(count);
    expect(reported.map(({ count }) => count)).toEqual([1, 2, 3, 4, 5]);
    clock.advance(999);
    expect(reported).toHaveLength(5);
    clock.advance(1);
    expect(counts()).toEqual([1, 2, 3, 4, 5, 20]);
    clock.advance(60_000);
    expect(counts()).toEqual([]);
  });

  it('is sent every 5 seconds above 100, always the latest one', () => {
    const { clock, counts, changed } = stage();
    changed(100);
    changed(101);
    expect(counts()).toEqual([100, 101]);
    for (let count = 102; count <= 150; count++) changed(count);
    clock.advance(4999);
    expect(counts()).toEqual([]);
    clock.advance(1);
    expect(counts()).toEqual([150]);
    changed(151);
    clock.advance(4999);
    expect(counts()).toEqual([]);
    clock.advance(1);
    expect(counts()).toEqual([151]);
  });

  it('is not sent if nothing changed, and at once after a pause', () => {
    const { clock, counts, changed } = stage();
    changed(200);
    expect(counts()).toEqual([200]);
    clock.advance(3_600_000);
    expect(counts()).toEqual([]);
    changed(201);
    expect(counts()).toEqual([201]);
  });

  it('is sent at once when it falls to 100, and not again afterwards', () => {
    const { clock, counts, changed } = stage();
    changed(102);
    changed(101);
    changed(100);
    changed(99);
    expect(counts()).toEqual([102, 100, 99]);
    clock.advance(60_000);
    expect(counts()).toEqual([]);
  });

  it('above 100 is not sent more often because it was below for a moment', () => {
    const { clock, reported, changed } = stage();
    for (let n = 0; n < 50; n++) {
      changed(101);
      clock.advance(50);
      changed(100);
      clock.advance(50);
    }
    const above = reported.filter(({ count }) => count > 100).map(({ atMs }) => atMs);
    for (const [n, atMs] of above.slice(1).entries()) {
      expect(atMs - Number(above[n])).toBeGreaterThanOrEqual(5000);
    }
  });

  it('of one channel does not hold back that of another', () => {
    const { clock, reported, changed } = stage();
    changed(200, 'a');
    changed(201, 'a');
    changed(300, 'b');
    expect(reported.map(({ channel, count }) => [channel, count])).toEqual([
      ['a', 200],
      ['b', 300],
    ]);
    clock.advance(5000);
    expect(reported.slice(2)).toEqual([{ channel: 'a', count: 201, atMs: 5000 }]);
  });

  it('is right in the end and never sent too often, whatever happens', () => {
    const step = fc.record({ up: fc.boolean(), pauseMs: fc.oneof(fc.nat(100), fc.nat(3000)) });
    fc.assert(
      fc.property(fc.integer({ min: 98, max: 104 }), fc.array(step), (start, steps) => {
        const { clock, reported, changed } = stage();
        let count = start;
        let changes = 0;
        for (const { up, pauseMs } of steps) {
          count += up ? 1 : -1;
          changes++;
          changed(count);
          clock.advance(pauseMs);
        }
        clock.advance(5000);
        if (changes > 0) expect(reported.at(-1)?.count).toBe(count);
        expect(reported.length).toBeLessThanOrEqual(changes);
        for (const { atMs } of reported) {
          const inSecond = reported.filter((one) => one.atMs > atMs - 1000 && one.atMs <= atMs);
          expect(inSecond.filter((one) => one.count <= 100).length).toBeLessThanOrEqual(5);
        }
        const above = reported.filter((one) => one.count > 100);
        for (const [n, { atMs }] of above.slice(1).entries()) {
          expect(atMs - (above[n]?.atMs ?? 0)).toBeGreaterThanOrEqual(5000);
        }
      }),
    );
  });
});
