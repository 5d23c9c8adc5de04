import { expect, it } from 'bun:test';
import { LoopShare } from './loop-share.ts';

it('is the share of the time since it was measured last', () => {
  let usedUs = 5_000_000;
  const share = new LoopShare(100, () => usedUs);
  usedUs += 20_000;
  expect(share.at(200)).toBeCloseTo(0.2);
  usedUs += 20_000;
  expect(share.at(1200)).toBeCloseTo(0.02);
});

it('is measured again after 50 ms at the earliest', () => {
  let usedUs = 0;
  const share = new LoopShare(0, () => usedUs);
  usedUs = 20_000;
  expect(share.at(49.9)).toBe(0);
  expect(share.at(50)).toBeCloseTo(0.4);
  usedUs = 45_000;
  expect(share.at(99.9)).toBeCloseTo(0.4);
  expect(share.at(100)).toBeCloseTo(0.5);
});

it('is that of this thread by default', () => {
  const usedUs = () => Object.values(process.threadCpuUsage()).reduce((sum, us) => sum + us, 0);
  const share = new LoopShare(0);
  const beganUs = usedUs();
  while (usedUs() - beganUs < 2000);
  expect(share.at(100)).toBeGreaterThanOrEqual(0.02);
  // Since then, hardly anything.
  expect(share.at(1e9)).toBeLessThan(0.001);
});
