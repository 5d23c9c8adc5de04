import { expect, it } from 'bun:test';
import { isHeld, type MeasuredMillion, printMillion, type Tenth } from './figures.ts';

const tenth = (connections: number, serverBytes: number): Tenth => ({
  connections,
  perSecond: 5000,
  serverBytes,
  kernelBytes: 4000,
  clientBytes: 20,
  loopP99Ms: 10,
});
const figures = (...serverBytes: readonly number[]): MeasuredMillion => ({
  why: 'as asked',
  endedEarly: false,
  tenths: serverBytes.map((bytes, at) => tenth((at + 1) * 1000, bytes)),
  broadcasts: [{ seconds: 0.5, loopP99Ms: 400, delivered: 3000, duplicated: 0 }],
  secondsPerDelivery: 15e-6,
  listing: { seconds: 0.01, loopP99Ms: 9, channels: 1000 },
  dollarsPerCoreHour: 0.04,
});

it('is held if the memory of a connection has a bound and does not grow with their number', () => {
  expect(isHeld(figures(1900, 1700, 1710))).toBe(true);
  expect(isHeld(figures(1900, 1700, 1800))).toBe(false);
  expect(isHeld(figures(2300, 2200, 2100))).toBe(false);
  expect(isHeld({ ...figures(1900, 1700, 1700), endedEarly: true })).toBe(false);
});

it('prints what a million deliveries cost, with the formula', () => {
  expect(printMillion(figures(1, 1))).toContain(
    '$0.000167 for a million deliveries: 0.04 $/core hour × 15.0 s / 3,600 s',
  );
});
