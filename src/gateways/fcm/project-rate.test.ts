import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeTime } from '../../../testing/fake-time.ts';
import { ProjectRate, ProjectRates } from './project-rate.ts';

const sender = { owner: {}, isTrusted: true };

/** A project's rate, and when each message could leave. */
function limited(perMinute?: number) {
  const timers = new FakeTime({ nowMs: 0, turns: 20 });
  const rate = new ProjectRate({ timers, ...(perMinute !== undefined && { perMinute }) });
  const leftAtMs: number[] = [];
  const send = (count: number) => {
    for (let number = 0; number < count; number++) {
      const turn = rate.take(sender);
      if (turn === undefined) leftAtMs.push(timers.now());
      else void turn.then(() => leftAtMs.push(timers.now()));
    }
  };
  const leftBetween = (fromMs: number, toMs: number) =>
    leftAtMs.filter((atMs) => atMs >= fromMs && atMs < toMs).length;
  return { rate, timers, send, leftAtMs, leftBetween };
}

describe('the rate of a project', () => {
  it('lets a small publish leave at once', () => {
    const { send, leftAtMs } = limited();
    send(1_000);
    expect(leftAtMs).toHaveLength(1_000);
  });

  it('rises to the quota within a minute, and not faster', async () => {
    const { timers, send, leftBetween } = limited(6_000);
    send(20_000);
    await timers.advance(180_000);
    // 10 a second at first, 83 at the end, after the burst.
    expect(leftBetween(100, 1_100)).toBeWithin(9, 14);
    expect(leftBetween(30_000, 31_000)).toBeWithin(40, 60);
    expect(leftBetween(70_000, 71_000)).toBeWithin(80, 86);
  });

  it('starts over after a minute without waiting messages', async () => {
    const { timers, send, leftBetween } = limited(6_000);
    send(7_000);
    await timers.advance(200_000);
    const fromMs = timers.now();
    send(2_000);
    await timers.advance(2_000);
    expect(leftBetween(fromMs + 1_000, fromMs + 2_000)).toBeWithin(8, 14);
  });

  it('halves once when many answers report an overload', async () => {
    const { rate, timers, send, leftBetween } = limited(6_000);
    send(60_000);
    await timers.advance(100_000);
    for (let times = 0; times < 50; times++) rate.slowDown();
    await timers.advance(2_000);
    expect(leftBetween(98_000, 99_000)).toBeWithin(80, 86);
    expect(leftBetween(100_500, 101_500)).toBeWithin(37, 46);
  });

  it('is full if another message might wait longer than 15 s', async () => {
    const { rate, timers, send } = limited();
    send(1_000 + 14_970);
    expect(rate.isFull).toBe(false);
    send(10);
    expect(rate.isFull).toBe(true);
    let isThrough = false;
    const last = rate.take(sender);
    void last?.then(() => {
      isThrough = true;
    });
    await timers.advance(15_500);
    expect(isThrough).toBe(true);
    expect(rate.isFull).toBe(false);
  });

  it('keeps the order', async () => {
    const { rate, timers } = limited(60);
    const went: number[] = [];
    for (let number = 0; number < 50; number++) {
      const turn = rate.take(sender);
      if (turn === undefined) went.push(number);
      else void turn.then(() => went.push(number));
      await timers.advance(number % 7 === 0 ? 900 : 0);
    }
    await timers.advance(1_000_000);
    expect(went).toEqual(Array.from({ length: 50 }, (_, number) => number));
  });

  it('never exceeds the quota in any minute', async () => {
    const asks = fc.array(
      fc.record({ count: fc.nat(40), afterMs: fc.integer({ min: 1, max: 20_000 }) }),
      { maxLength: 15 },
    );
    await fc.assert(
      fc.asyncProperty(asks, async (list) => {
        const { timers, send, leftAtMs } = limited(60);
        for (const { count, afterMs } of list) {
          send(count);
          await timers.advance(afterMs);
        }
        await timers.advance(3_600_000);
        expect(leftAtMs).toHaveLength(list.reduce((sum, { count }) => sum + count, 0));
        for (const [index, atMs] of leftAtMs.entries()) {
          const inMinute = leftAtMs.slice(index).filter((later) => later < atMs + 60_000).length;
          expect(inMinute).toBeLessThanOrEqual(60);
        }
      }),
      { numRuns: 10 },
    );
  }, 60_000);

  it('is shared by project', () => {
    const rates = new ProjectRates({ timers: new FakeTime({ turns: 20 }) });
    expect(rates.of('a')).toBe(rates.of('a'));
    expect(rates.of('a')).not.toBe(rates.of('b'));
  });
});
