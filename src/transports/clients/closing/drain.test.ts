import { expect, it } from 'bun:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { FakeClock } from '../../../channels/hub.fixture.ts';
import { drain } from './drain.ts';

/** Drains over 7 s, and returns when each connection was closed. */
async function closedAt(count: number, closeMs: number): Promise<readonly number[]> {
  const clock = new FakeClock();
  const startedAtMs = clock.now();
  const open = new Set(Array.from({ length: count }, (_, n) => n));
  const closedAtMs: number[] = [];
  const end = (one: number) => {
    open.delete(one);
    clock.advance(closeMs);
    closedAtMs.push(clock.now() - startedAtMs);
  };
  const connections = {
    all: () => open.values(),
    get size() {
      return open.size;
    },
  };
  let isDrained = false;
  void drain(connections, 7_000, end, clock).then(() => {
    isDrained = true;
  });
  while (!isDrained) {
    clock.advance(100);
    await nextTurn();
  }
  return closedAtMs;
}

it('closes as many connections in each step', async () => {
  const atMs = await closedAt(700, 0);
  expect(atMs.filter((ms) => ms < 700)).toHaveLength(70);
  expect(atMs.filter((ms) => ms < 3_500)).toHaveLength(350);
  expect(Math.max(...atMs)).toBeLessThan(7_100);
});

it('keeps to its time, however long its steps take', async () => {
  const atMs = await closedAt(5_000, 1);
  expect(atMs).toHaveLength(5_000);
  expect(Math.max(...atMs)).toBeLessThan(7_300);
  expect(atMs.filter((ms) => ms < 3_500).length).toBeLessThan(2_600);
});
