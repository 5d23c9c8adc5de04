import { expect, it } from 'bun:test';
import { explainExpiredTimestamp, judgeClock } from './clock-skew.ts';

const NOW_MS = Date.parse('2026-06-15T12:00:00Z');
const dateIn = (seconds: number) => new Date(NOW_MS + seconds * 1000).toUTCString();

it.each([
  [0, 'ok', 'the clock of the server agrees with the one here'],
  [-1, 'ok', 'the clock of the server agrees with the one here'],
  [59, 'ok', 'the clock of the server is 59 s ahead of the one here'],
  [60, 'warning', 'the clock of the server is 60 s ahead of the one here'],
  [-599, 'warning', 'the clock of the server is 599 s behind the one here'],
  [600, 'failed', 'is 600 s ahead of the one here; signed requests are refused from 600 s on'],
  [-3600, 'failed', 'is 3600 s behind the one here; signed requests are refused'],
])('judges a clock that is %i s off: %s', (seconds, result, detail) => {
  const finding = judgeClock(dateIn(seconds), NOW_MS);
  expect(finding).toMatchObject({ result, detail: expect.stringContaining(detail) });
  if (result !== 'ok') expect(finding).toHaveProperty('advice', expect.stringContaining('date -u'));
});

it('says why it cannot compare the clocks', () => {
  expect(judgeClock(undefined, NOW_MS).result).toBe('not checked');
  expect(judgeClock('soon', NOW_MS)).toEqual({
    result: 'not checked',
    detail: 'the Date header is no date',
  });
});

it('explains a signature that is out of date, with the time that the server states', () => {
  const stated =
    'Timestamp expired: Given timestamp (…) not within 600s of server time (2026-06-15T13:00:00Z)';
  expect(explainExpiredTimestamp(stated, NOW_MS)).toMatchObject({
    result: 'failed',
    detail: expect.stringContaining('3600 s ahead of'),
  });
  expect(explainExpiredTimestamp('timestamp expired', NOW_MS)?.detail).toContain('too far apart');
  expect(explainExpiredTimestamp('Invalid signature', NOW_MS)).toBeUndefined();
});
