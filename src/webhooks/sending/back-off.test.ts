import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { nextTryAt } from './back-off.ts';

/** When the tries are made, in milliseconds after the first, where each fails at once. */
function tries(random: () => number): readonly number[] {
  const all = [0];
  for (;;) {
    const next = nextTryAt.channels({
      tries: all.length,
      firstTryAtMs: 0,
      nowMs: all.at(-1) ?? 0,
      random: random(),
    });
    if (next === undefined) return all;
    all.push(next);
  }
}

it('doubles the pause up to a minute, and tries for the last time after five minutes', () => {
  expect(tries(() => 0)).toEqual([
    0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000, 183_000, 243_000, 300_000,
  ]);
});

it('shortens each pause by up to half', () => {
  expect(tries(() => 0.999_999).slice(0, 5)).toEqual([0, 500, 1_500, 3_500, 7_500]);
});

it('ends at exactly five minutes, with any random pauses', () => {
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })), (chance) => {
      const all = tries(() => chance.next().value ?? 0);
      expect(all.at(-1)).toBe(300_000);
      expect(all.length).toBeLessThan(25);
    }),
  );
});

it.each(['push', 'publish'] as const)(
  'of %s is after 10, 30, 120 and 300 seconds, and never again',
  (kind) => {
    const pauses = [1, 2, 3, 4, 5].map((tries) => {
      const nowMs = 7_000 * tries;
      const next = nextTryAt[kind]({ tries, firstTryAtMs: 7_000, nowMs, random: 0.9 });
      return next === undefined ? undefined : next - nowMs;
    });
    expect(pauses).toEqual([10_000, 30_000, 120_000, 300_000, undefined]);
  },
);
