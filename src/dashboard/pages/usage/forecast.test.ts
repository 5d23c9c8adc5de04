import { expect, it } from 'bun:test';
import { forecast } from './forecast.ts';

const NOW_MS = Date.parse('2026-11-24T18:30:00Z');
const hour = (text: string, messages: number) => ({
  startMs: Date.parse(`2026-11-24T${text}:00Z`),
  messages,
});

it('continues at the rate of this hour and the one before', () => {
  const hours = [hour('18:00', 300), hour('17:00', 600), hour('16:00', 1_000_000)];
  const predicted = forecast(hours, { used: 5_000, quota: 10_000, nowMs: NOW_MS });
  // 900 in 90 minutes, and 330 minutes are left.
  expect(predicted).toEqual({ atMidnight: 8_300, usedUpAtMs: undefined, paceMs: 5_400_000 });
});

it('returns when the quota is used up', () => {
  const hours = [hour('18:00', 300), hour('17:00', 600)];
  const at = (used: number) => forecast(hours, { used, quota: 6_000, nowMs: NOW_MS })?.usedUpAtMs;
  expect(at(5_400)).toBe(Date.parse('2026-11-24T19:30:00Z'));
  expect(at(7_000)).toBe(NOW_MS);
});

it('is unknown without hours, and expects no more usage at a rate of 0', () => {
  const asked = { used: 1, quota: 10, nowMs: NOW_MS };
  expect(forecast([hour('12:00', 9)], asked)).toBeUndefined();
  expect(forecast([hour('18:00', 0)], asked)).toMatchObject({
    atMidnight: 1,
    usedUpAtMs: undefined,
  });
});
