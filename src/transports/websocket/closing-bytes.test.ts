import { expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { ClosingBytes } from './closing-bytes.ts';

it('what closed sockets have not read is bounded for as long as the runtime keeps it', async () => {
  const time = new FakeTime();
  const closing = new ClosingBytes(100_000, time);
  expect([60_000, 60_000, 40_000].map((bytes) => closing.mayKeep(bytes))).toEqual([
    true,
    false,
    true,
  ]);
  expect(closing.mayKeep(16_385)).toBe(false);
  // Most connections have next to nothing waiting.
  for (let n = 0; n < 100; n++) expect(closing.mayKeep(10_000)).toBe(true);
  await time.advance(4_999);
  expect(closing.mayKeep(60_000)).toBe(false);
  await time.advance(1);
  expect(closing.mayKeep(100_000)).toBe(true);
});
