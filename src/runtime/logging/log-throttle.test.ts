import { describe, expect, it } from 'bun:test';
import { LogThrottle, type Throttled } from './log-throttle.ts';

function stage(rate?: { perSecond: number; burst: number }) {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const throttle = new LogThrottle(clock, rate);
  const lines: (Throttled & { key: string })[] = [];
  return {
    clock,
    lines,
    log: (key: string) => throttle.run(key, (throttled) => lines.push({ key, ...throttled })),
  };
}

describe('a log throttle', () => {
  it('logs a line once a minute, with how many were left out', () => {
    const { clock, lines, log } = stage();
    for (let count = 0; count < 5; count++) log('a');
    clock.nowMs = 60_000;
    log('a');
    clock.nowMs = 120_000;
    log('a');

    expect(lines).toEqual([{ key: 'a' }, { key: 'a', notLogged: 4 }, { key: 'a' }]);
  });

  it('throttles each key on its own', () => {
    const { lines, log } = stage();
    for (const key of ['a', 'b', 'a', 'b']) log(key);
    expect(lines).toEqual([{ key: 'a' }, { key: 'b' }]);
  });

  it('allows the burst of its rate', () => {
    const { clock, lines, log } = stage({ perSecond: 1, burst: 3 });
    for (let count = 0; count < 10; count++) log('a');
    expect(lines).toHaveLength(3);
    clock.nowMs = 1000;
    log('a');
    expect(lines.at(-1)).toEqual({ key: 'a', notLogged: 7 });
  });

  it('remembers a bounded number of keys, and keeps those in use', () => {
    const { lines, log } = stage();
    log('a');
    for (let count = 0; count < 5000; count++) {
      log(String(count));
      log('a');
    }
    expect(lines.filter(({ key }) => key === 'a')).toHaveLength(1);
  });

  it('lets all further keys share one rate', () => {
    const { clock, lines, log } = stage({ perSecond: 1, burst: 3 });
    for (let key = 0; key < 5000; key++) for (let count = 0; count < 10; count++) log(String(key));
    expect(lines).toHaveLength(1000 * 3 + 3);
    clock.nowMs = 1000;
    log('new');
    expect(lines.at(-1)).toEqual({ key: 'new', notLogged: 4000 * 10 - 3 });
  });

  it('forgets only keys whose bucket is full, and counts their left-out lines', () => {
    const { clock, lines, log } = stage({ perSecond: 1, burst: 3 });
    for (let count = 0; count < 10; count++) log('loud');
    for (let key = 1; key < 1000; key++) log(String(key));
    for (let count = 0; count < 4; count++) log('shared');
    clock.nowMs = 2999;
    log('shared');
    clock.nowMs = 3000;
    log('new');
    expect(lines.slice(-2)).toEqual([{ key: 'shared', notLogged: 1 }, { key: 'new' }]);
    for (let key = 1; key < 1000; key++) log(`other ${key}`);
    log('shared');
    expect(lines.at(-1)).toEqual({ key: 'shared', notLogged: 7 });
  });

  it('counts the lines that a line stands for', () => {
    const lines: Throttled[] = [];
    const throttle = new LogThrottle({ now: () => 0 }, { perSecond: 1, burst: 1 });
    throttle.run('a', (throttled) => lines.push(throttled), 5);
    expect(lines).toEqual([{ notLogged: 4 }]);
  });
});
