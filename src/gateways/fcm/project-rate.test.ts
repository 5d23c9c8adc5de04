import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeTime } from '../../../testing/fake-time.ts';
import { ProjectRate, ProjectRates } from './project-rate.ts';

const sender = { owner: {}, isTrusted: true };

/** A pace, and when each of those that it let through could go. */
function paced(perMinute?: number) {
  const timers = new FakeTime({ nowMs: 0, turns: 20 });
  const pace = new ProjectRate({ timers, ...(perMinute !== undefined && { perMinute }) });
  const wentAtMs: number[] = [];
  const ask = (count: number) => {
    for (let number = 0; number < count; number++) {
      const turn = pace.take(sender);
      if (turn === undefined) wentAtMs.push(timers.now());
      else void turn.then(() => wentAtMs.push(timers.now()));
    }
  };
  const wentBetween = (fromMs: number, toMs: number) =>
    wentAtMs.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
  return { pace, timers, ask, wentAtMs, wentBetween };
}

describe('the pace of a project', () => {
  it('lets a small publish out at once', () => {
    const { ask, wentAtMs } = paced();
    ask(1_000);
    expect(wentAtMs).toHaveLength(1_000);
  });

  it('rises within a minute to what Google allows, and not faster', async () => {
    const { timers, ask, wentBetween } = paced(6_000);
    ask(20_000);
    await timers.advance(180_000);
    // Ten in a second at first, a hundred at the end, beside what went at once.
    expect(wentBetween(100, 1_100)).toBeWithin(9, 14);
    expect(wentBetween(30_000, 31_000)).toBeWithin(40, 60);
    expect(wentBetween(70_000, 71_000)).toBeWithin(80, 86);
  });

  it('begins anew after a minute in which nobody had to wait', async () => {
    const { timers, ask, wentBetween } = paced(6_000);
    ask(7_000);
    await timers.advance(200_000);
    const fromMs = timers.now();
    ask(2_000);
    await timers.advance(2_000);
    expect(wentBetween(fromMs + 1_000, fromMs + 2_000)).toBeWithin(8, 14);
  });

  it('halves where Google has had too much, once for all that say so', async () => {
    const { pace, timers, ask, wentBetween } = paced(6_000);
    ask(60_000);
    await timers.advance(100_000);
    for (let times = 0; times < 50; times++) pace.slowDown();
    await timers.advance(2_000);
    expect(wentBetween(98_000, 99_000)).toBeWithin(80, 86);
    expect(wentBetween(100_500, 101_500)).toBeWithin(37, 46);
  });

  it('is full where one more might wait longer than a quarter of a minute', async () => {
    const { pace, timers, ask } = paced();
    ask(1_000 + 14_970);
    expect(pace.isFull).toBe(false);
    ask(10);
    expect(pace.isFull).toBe(true);
    let isThrough = false;
    const last = pace.take(sender);
    void last?.then(() => {
      isThrough = true;
    });
    await timers.advance(15_500);
    expect(isThrough).toBe(true);
    expect(pace.isFull).toBe(false);
  });

  it('lets nobody overtake', async () => {
    const { pace, timers } = paced(60);
    const went: number[] = [];
    for (let number = 0; number < 50; number++) {
      const turn = pace.take(sender);
      if (turn === undefined) went.push(number);
      else void turn.then(() => went.push(number));
      await timers.advance(number % 7 === 0 ? 900 : 0);
    }
    await timers.advance(1_000_000);
    expect(went).toEqual(Array.from({ length: 50 }, (_, number) => number));
  });

  it('keeps to what Google allows in any minute, whatever is asked for', async () => {
    const asks = fc.array(
      fc.record({ count: fc.nat(40), afterMs: fc.integer({ min: 1, max: 20_000 }) }),
      { maxLength: 15 },
    );
    await fc.assert(
      fc.asyncProperty(asks, async (list) => {
        const { timers, ask, wentAtMs } = paced(60);
        for (const { count, afterMs } of list) {
          ask(count);
          await timers.advance(afterMs);
        }
        await timers.advance(3_600_000);
        expect(wentAtMs).toHaveLength(list.reduce((sum, { count }) => sum + count, 0));
        for (const [index, atMs] of wentAtMs.entries()) {
          const inMinute = wentAtMs.slice(index).filter((later) => later < atMs + 60_000).length;
          expect(inMinute).toBeLessThanOrEqual(60);
        }
      }),
      { numRuns: 10 },
    );
  }, 60_000);

  it('is one for each project', () => {
    const paces = new ProjectRates({ timers: new FakeTime({ turns: 20 }) });
    expect(paces.of('a')).toBe(paces.of('a'));
    expect(paces.of('a')).not.toBe(paces.of('b'));
  });
});
