import { describe, expect, it } from 'bun:test';
import { FakeTime, settled } from '../../../testing/fake-time.ts';
import { Poller } from './poller.ts';

describe('a poller', () => {
  it('runs when it is woken, and again after the pause that a run returns', async () => {
    const time = new FakeTime();
    let runs = 0;
    const poller = new Poller(time, async () => {
      runs += 1;
      return 100;
    });
    poller.wake();
    await time.advance(250);
    expect(runs).toBe(3);
    poller.wake();
    await time.advance(99);
    expect(runs).toBe(4);
    await poller.stop();
    poller.wake();
    await time.advance(1_000);
    expect(runs).toBe(4);
  });

  it('runs once more if it was woken during a run, and never twice at the same time', async () => {
    const time = new FakeTime();
    let underWay = 0;
    let runs = 0;
    const poller = new Poller(time, async () => {
      underWay += 1;
      expect(underWay).toBe(1);
      await new Promise<void>((resolve) => time.after(10, resolve));
      underWay -= 1;
      runs += 1;
      return 1_000_000;
    });
    poller.wake();
    poller.wake();
    await time.advance(5);
    poller.wake();
    poller.wake();
    await time.advance(100);
    expect(runs).toBe(2);
  });

  it('runs at once if it is woken by its own run, and not before it is woken after an infinite pause', async () => {
    const time = new FakeTime();
    let runs = 0;
    const poller: Poller = new Poller(time, async () => {
      runs += 1;
      if (runs === 1) poller.wake();
      return Number.POSITIVE_INFINITY;
    });
    poller.wake();
    await time.advance(1_000_000);
    expect(runs).toBe(2);
    poller.wake();
    await time.advance(0);
    expect(runs).toBe(3);
  });

  it('can be woken later, unless a run is planned or under way', async () => {
    const time = new FakeTime();
    let runs = 0;
    const poller: Poller = new Poller(time, async () => {
      runs += 1;
      poller.wakeLater(1);
      return 100;
    });
    poller.wakeLater(10);
    poller.wakeLater(1);
    await time.advance(9);
    expect(runs).toBe(0);
    await time.advance(1);
    expect(runs).toBe(1);
    poller.wakeLater(1);
    await time.advance(99);
    expect(runs).toBe(1);
    await poller.stop();
    poller.wakeLater(1);
    await time.advance(1_000);
    expect(runs).toBe(1);
  });

  it('stops after the current run', async () => {
    const time = new FakeTime();
    const poller = new Poller(time, async () => {
      await new Promise<void>((resolve) => time.after(10, resolve));
      return 0;
    });
    poller.wake();
    let isStopped = false;
    void poller.stop().then(() => {
      isStopped = true;
    });
    await settled();
    expect(isStopped).toBe(false);
    await time.advance(10);
    expect(isStopped).toBe(true);
  });
});
