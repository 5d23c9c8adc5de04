import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { CHECK_MS } from './limits.ts';
import { SteadyClock } from './steady-clock.ts';

let time: FakeTime;
let clock: SteadyClock;
beforeEach(() => {
  time = new FakeTime();
  clock = new SteadyClock(time);
});

describe('the steady clock', () => {
  it('follows the time between ticks and across them', async () => {
    await time.advance(400);
    expect(clock.now()).toBe(400);
    await time.advance(CHECK_MS - 400);
    clock.tick();
    expect(clock.now()).toBe(CHECK_MS);
    await time.advance(1);
    expect(clock.now()).toBe(CHECK_MS + 1);
  });

  it.each([60_000, -60_000])('continues when the system clock is set by %i ms', (byMs) => {
    clock.tick();
    time.setClock(byMs);
    clock.tick();
    expect(clock.now()).toBe(2 * CHECK_MS);
  });

  it('counts a pause of the process as at most one tick', () => {
    time.setClock(10_000);
    expect(clock.now()).toBe(CHECK_MS);
    clock.tick();
    expect(clock.now()).toBe(CHECK_MS);
  });
});
