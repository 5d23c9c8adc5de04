import { expect, it } from 'bun:test';
import { FakeTime } from '../../testing/fake-time.ts';
import type { Tap } from '../channels/watching/tap.ts';
import { REALTIME_RECORDS } from './limits.ts';
import { LoopTaps } from './loop-taps.ts';
import type { AppTick } from './records.ts';

/** A loop with apps that may be watched. */
function stage(loops = 1) {
  const time = new FakeTime();
  const taps = new Map<string, Tap>();
  const ticks: AppTick[] = [];
  const loop = new LoopTaps({
    setTap(appId, tap) {
      if (tap === undefined) taps.delete(appId);
      else taps.set(appId, tap);
    },
    timers: time,
    share: REALTIME_RECORDS,
    loops,
    send: (sent) => void ticks.push(...sent),
  });
  const watch = (...ids: readonly string[]) => loop.watch(ids.map((id) => ({ id, filters: [{}] })));
  const flood = () => {
    for (const tap of taps.values()) {
      for (let n = 0; n < 1000; n++) tap.record({ kind: 'api', data: 'x'.repeat(1024) });
      for (let n = 0; n < 1000; n++) tap.record({ kind: 'error' });
    }
  };
  return { time, taps, ticks, loop, watch, flood };
}

it('apps have a tap only while somebody watches them, and nothing runs while nobody does', async () => {
  const { time, taps, ticks, watch } = stage();
  const timers = () => Object(Reflect.get(time, 'alarms')).length;
  expect([taps.size, timers()]).toEqual([0, 0]);
  watch('a', 'b');
  const first = taps.get('a');
  await time.advance(1000);
  expect(ticks.map(({ appId }) => appId)).toEqual(['a', 'b']);
  watch('a');
  expect([...taps]).toEqual([['a', first as Tap]]);
  watch();
  await time.advance(1000);
  expect([taps.size, timers()]).toEqual([0, 0]);
});

it.each([
  [1, ['a']],
  [1, ['a', 'b', 'c']],
  [2, ['a']],
  [4, ['a', 'b']],
])(
  '%d loops and apps %p together record 40 things in a tick at most, 25 of them events',
  async (loops, ids) => {
    const { time, ticks, watch, flood } = stage(loops);
    watch(...ids);
    flood();
    await time.advance(100);
    const records = ticks.flatMap((tick) => tick.records);
    const api = records.filter(({ kind }) => kind === 'api');
    expect(records.length * loops).toBeLessThanOrEqual(40);
    expect(api.length * loops).toBeLessThanOrEqual(25);
    expect(JSON.stringify(records).length * loops).toBeLessThan(128 * 1024);
    expect(new Set(ticks.map((tick) => tick.records.length)).size).toBe(1);
  },
);

it('puts its taps on the apps that there are after a change', () => {
  const { taps, loop, watch } = stage();
  watch('a');
  taps.clear();
  loop.apply();
  expect([...taps.keys()]).toEqual(['a']);
});
