import { expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { every } from './every.ts';

it('calls after each interval until it is stopped, also by what it calls', async () => {
  const time = new FakeTime();
  const startMs = time.now();
  const calledAtMs: number[] = [];
  const stop = every(time, 100, () => {
    calledAtMs.push(time.now() - startMs);
    if (calledAtMs.length === 3) stop();
  });
  await time.advance(1_000);
  expect(calledAtMs).toEqual([100, 200, 300]);
});
