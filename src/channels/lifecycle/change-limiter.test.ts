import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeClock } from '../hub.fixture.ts';
import { ChangeLimiter } from './change-limiter.ts';

const WINDOW_MS = 1000;

function stage() {
  const clock = new FakeClock();
  const limiter = new ChangeLimiter<string>(clock, WINDOW_MS);
  const reported: { value: number; atMs: number }[] = [];
  const startMs = clock.now();
  return {
    clock,
    limiter,
    reported,
    changed: (value: number, key = 'key', times = 3) =>
      limiter.changed(key, times, () => reported.push({ value, atMs: clock.now() - startMs })),
    values: () => reported.splice(0).map(({ value }) => value),
  };
}

describe('a change', () => {
  it('is reported at once up to the limit of a window; beyond it, the last one as soon as the limit allows', () => {
    const { clock, changed, values } = stage();
    for (let value = 1; value <= 9; value++) changed(value);
    expect(values()).toEqual([1, 2, 3]);
    clock.advance(WINDOW_MS - 1);
    expect(values()).toEqual([]);
    clock.advance(1);
    expect(values()).toEqual([9]);
    changed(10);
    expect(values()).toEqual([10]);
  });

  it('of one key does not hold back that of another', () => {
    const { changed, values } = stage();
    for (const key of ['a', 'b']) for (let value = 1; value <= 4; value++) changed(value, key);
    expect(values()).toEqual([1, 2, 3, 1, 2, 3]);
  });

  it('that was cancelled is not reported, nor does it let a later one out too early', () => {
    const { clock, limiter, changed, values } = stage();
    for (let value = 1; value <= 4; value++) changed(value);
    expect(values()).toEqual([1, 2, 3]);
    clock.advance(500);
    limiter.cancel('key');
    changed(5);
    clock.advance(499);
    expect(values()).toEqual([]);
    clock.advance(1);
    expect(values()).toEqual([5]);
  });

  it('is reported although the clock was set back', () => {
    const { clock, changed, values } = stage();
    for (let value = 1; value <= 3; value++) changed(value);
    clock.setBack(3_600_000);
    changed(4);
    expect(values()).toEqual([1, 2, 3, 4]);
  });

  it('is forgotten when its window is over', () => {
    const { clock, limiter, changed } = stage();
    for (let key = 0; key < 1000; key++) changed(1, `${key}`);
    expect(limiter.size).toBe(1000);
    clock.advance(2 * WINDOW_MS);
    expect(limiter.size).toBe(0);
  });

  it('is never reported too often, and the last one always, whatever happens', () => {
    const step = fc.record({ key: fc.constantFrom('a', 'b'), waitMs: fc.nat(700) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
        const clock = new FakeClock();
        const limiter = new ChangeLimiter<string>(clock, WINDOW_MS);
        const reported = new Map<string, { value: number; atMs: number }[]>([
          ['a', []],
          ['b', []],
        ]);
        const last = new Map<string, number>();
        for (const [value, { key, waitMs }] of steps.entries()) {
          last.set(key, value);
          limiter.changed(key, 2, () => reported.get(key)?.push({ value, atMs: clock.now() }));
          clock.advance(waitMs);
        }
        clock.advance(2 * WINDOW_MS);
        for (const [key, list] of reported) {
          expect(list.at(-1)?.value).toBe(last.get(key));
          for (const [index, { atMs }] of list.entries()) {
            const third = list[index + 2];
            if (third !== undefined) expect(third.atMs - atMs).toBeGreaterThanOrEqual(WINDOW_MS);
          }
        }
      }),
    );
  });
});
