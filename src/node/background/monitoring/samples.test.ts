import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../../testing/fake-time.ts';
import type { MetricValues } from '../../../observability/meter.ts';
import { type Sample, Samples, total } from './samples.ts';

/** Two loops whose counters a test sets. */
function scene() {
  const time = new FakeTime({ nowMs: 1_800_000_005_000 });
  const taken: Sample[] = [];
  const counters = { delivered: 0, closed: 0, isAway: false };
  let asked = 0;
  const samples = new Samples({
    measure: async () => {
      asked++;
      if (counters.isAway) throw new Error('The realtime loop did not answer');
      const one: MetricValues = new Map([
        ['messagesDelivered', new Map([['', counters.delivered]])],
        ['slowConnectionsClosed', new Map([['', counters.closed]])],
        ['loopDelay', new Map([['realtime', 0.5]])],
      ]);
      const other: MetricValues = new Map([
        ['messagesDelivered', new Map([['', 1]])],
        ['loopDelay', new Map([['realtime-1', 0.25]])],
      ]);
      return [one, other];
    },
    onSample: (sample) => void taken.push(sample),
    timers: time,
    monotonic: time,
  });
  return { time, taken, counters, samples, asked: () => asked };
}

describe('the samples', () => {
  it('are taken at the start and in each step of the clock, and add up all loops', async () => {
    const { time, taken, samples } = scene();
    samples.start();
    await time.advance(25_000);
    expect(taken.map(({ atMs }) => atMs % 100_000)).toEqual([5_000, 10_000, 20_000, 30_000]);
    const [first] = taken as [Sample];
    expect(total(first, 'messagesDelivered')).toBe(1);
    expect(total(first, 'loopDelay', 'realtime-1')).toBe(0.25);
    samples[Symbol.dispose]();
    await time.advance(60_000);
    expect(taken).toHaveLength(4);
  });

  it('are taken in between on request, once for all requests at the same time', async () => {
    const { time, samples, asked } = scene();
    samples.start();
    await time.advance(0);
    await time.advance(2_000);
    const both = await Promise.all([samples.fresh(1_000), samples.fresh(1_000)]);
    expect(both[0]).toBe(both[1]);
    expect(asked()).toBe(2);
    await samples.fresh(1_000);
    expect(asked()).toBe(2);
  });

  it('return the rate of a counter over five seconds or more', async () => {
    const { time, taken, counters, samples } = scene();
    samples.start();
    await time.advance(4_000);
    counters.delivered = 400;
    expect(samples.perSecond(await samples.fresh(0), 'messagesDelivered')).toBeUndefined();
    await time.advance(2_000);
    counters.delivered = 1_100;
    await time.advance(10_000);
    const last = taken.at(-1) as Sample;
    // Against the one at 10 s of the clock.
    expect(samples.perSecond(last, 'messagesDelivered')).toBe((1_100 - 400) / 10);
  });

  it('return the increase of a counter over a time, and forget what is older than ten minutes', async () => {
    const { time, counters, samples } = scene();
    samples.start();
    await time.advance(5_000);
    counters.closed = 7;
    await time.advance(60_000);
    expect(samples.increase('slowConnectionsClosed', 600_000)).toBe(7);
    await time.advance(400_000);
    expect(samples.increase('slowConnectionsClosed', 300_000)).toBe(0);
    expect(samples.increase('slowConnectionsClosed', 600_000)).toBe(7);
    await time.advance(200_000);
    expect(samples.increase('slowConnectionsClosed', 600_000)).toBe(0);
    expect(samples.last(1_000).length).toBeLessThan(64);
  });

  it('report why a loop did not answer, and continue', async () => {
    const { time, taken, counters, samples } = scene();
    samples.start();
    await time.advance(5_000);
    counters.isAway = true;
    await time.advance(10_000);
    expect(taken.at(-1)).toMatchObject({ why: 'The realtime loop did not answer' });
    expect(samples.perSecond(taken.at(-1) as Sample, 'messagesDelivered')).toBeUndefined();
    Object.assign(counters, { isAway: false, delivered: 200 });
    await time.advance(10_000);
    // Since the last sample that there is.
    expect(samples.perSecond(taken.at(-1) as Sample, 'messagesDelivered')).toBe(10);
  });
});
