import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeClock } from '../hub.fixture.ts';
import { Delayed } from './delayed.ts';

const DELAY_MS = 3000;

function stage() {
  const clock = new FakeClock();
  const delayed = new Delayed<string>(clock, DELAY_MS);
  const done: string[] = [];
  return {
    clock,
    delayed,
    done,
    start: (key: string, what = key) => delayed.start(key, () => void done.push(what)),
  };
}

describe('a delayed action', () => {
  it('is done after the delay, and not a millisecond before', () => {
    const { clock, done, start } = stage();
    start('a');
    clock.advance(2999);
    expect(done).toEqual([]);
    clock.advance(1);
    expect(done).toEqual(['a']);
    clock.advance(10_000);
    expect(done).toEqual(['a']);
  });

  it('is done each at its own time, in the order in which it was started', () => {
    const { clock, done, start } = stage();
    start('b');
    start('a');
    clock.advance(1000);
    start('c');
    clock.advance(2000);
    expect(done).toEqual(['b', 'a']);
    clock.advance(1000);
    expect(done).toEqual(['b', 'a', 'c']);
  });

  it('does not run once it is cancelled, and only a waiting one can be', () => {
    const { clock, delayed, done, start } = stage();
    start('a');
    start('b');
    expect(delayed.has('a')).toBe(true);
    expect(delayed.cancel('a')).toBe(true);
    expect(delayed.has('a')).toBe(false);
    expect(delayed.cancel('a')).toBe(false);
    clock.advance(3000);
    expect(done).toEqual(['b']);
    expect(delayed.cancel('b')).toBe(false);
  });

  it('waits anew when it is started again, and is done once', () => {
    const { clock, done, start } = stage();
    start('a', 'first');
    clock.advance(2000);
    start('a', 'second');
    clock.advance(2999);
    expect(done).toEqual([]);
    clock.advance(1);
    expect(done).toEqual(['second']);
  });

  it('may start again while it runs', () => {
    const { clock, delayed, done } = stage();
    const again = () => {
      done.push(String(clock.now()));
      if (done.length < 3) delayed.start('a', again);
    };
    const startedAtMs = clock.now();
    delayed.start('a', again);
    clock.advance(60_000);
    expect(done.map((at) => Number(at) - startedAtMs)).toEqual([3000, 6000, 9000]);
  });

  it('is done at once when it is flushed, in order and only once', () => {
    const { clock, delayed, done, start } = stage();
    start('a');
    clock.advance(10);
    start('b');
    delayed.flush();
    expect(done).toEqual(['a', 'b']);
    start('c');
    clock.advance(3000);
    expect(done).toEqual(['a', 'b', 'c']);
  });

  it('may be one of thousands, half of which are cancelled', () => {
    const { clock, delayed, done, start } = stage();
    for (let n = 0; n < 20_000; n++) start(String(n));
    for (let n = 0; n < 20_000; n += 2) delayed.cancel(String(n));
    clock.advance(3000);
    expect(done).toHaveLength(10_000);
    expect(done[0]).toBe('1');
    expect(done.at(-1)).toBe('19999');
  });

  it('does not wait for hours when the clock is set back by hours', () => {
    const { clock, done, start } = stage();
    start('before');
    clock.setBack(3_600_000);
    start('after');
    clock.advance(3000);
    expect(done).toEqual(['before', 'after']);
  });

  it('is done when a timer of its own would do it, whatever is started and cancelled when', () => {
    const step = fc.oneof(
      fc.record({ start: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ cancel: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ advance: fc.nat(5000) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { clock, delayed, done } = stage();
        const expected: string[] = [];
        const timers = new Map<string, () => void>();
        for (const one of steps) {
          if ('start' in one) {
            const { start } = one;
            timers.get(start)?.();
            timers.set(
              start,
              clock.after(DELAY_MS, () => {
                timers.delete(start);
                expected.push(`${start} ${clock.now()}`);
              }),
            );
            delayed.start(start, () => void done.push(`${start} ${clock.now()}`));
          } else if ('cancel' in one) {
            timers.get(one.cancel)?.();
            expect(delayed.cancel(one.cancel)).toBe(timers.delete(one.cancel));
          } else {
            clock.advance(one.advance);
          }
        }
        clock.advance(DELAY_MS);
        expect(done).toEqual(expected);
      }),
    );
  });
});
