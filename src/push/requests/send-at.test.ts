import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { readSendAt } from './send-at.ts';

const nowMs = Date.UTC(2028, 1, 20, 12);
const DAY_MS = 86_400_000;

const read = (value: unknown) => readSendAt(value, nowMs);
const at = (text: string) => ({ ok: true as const, sendAtMs: Date.parse(text) });

describe('the time of a publish', () => {
  it.each([
    ['2028-02-20T12:00:01Z', '2028-02-20T12:00:01.000Z'],
    ['2028-02-29T23:59:59Z', '2028-02-29T23:59:59.000Z'],
    ['2028-02-21t00:00:00z', '2028-02-21T00:00:00.000Z'],
    ['2028-02-21T00:00:00.5Z', '2028-02-21T00:00:00.500Z'],
    ['2028-02-21T00:00:00.123999999Z', '2028-02-21T00:00:00.123Z'],
    ['2028-02-21T00:00:00+05:30', '2028-02-20T18:30:00.000Z'],
    ['2028-02-20T23:00:00-03:00', '2028-02-21T02:00:00.000Z'],
    ['2028-02-21T00:00:00-00:00', '2028-02-21T00:00:00.000Z'],
    ['2028-02-21T23:59:00+23:59', '2028-02-21T00:00:00.000Z'],
  ])('is read: %s', (text, utc) => {
    expect(read(text)).toEqual(at(utc));
  });

  it.each([
    '2028-02-20T12:00:00Z',
    '2028-02-20T11:59:59.999Z',
    '2028-02-20T13:00:00+01:00',
    '1970-01-01T00:00:00Z',
    '0000-02-29T00:00:00Z',
    '2000-02-29T00:00:00Z',
    '0099-01-01T00:00:00Z',
  ])('that is past means at once: %s', (text) => {
    expect(read(text)).toEqual({ ok: true, sendAtMs: undefined });
  });

  it('is at most 30 days ahead', () => {
    const last = new Date(nowMs + 30 * DAY_MS).toISOString();
    const tooLate = new Date(nowMs + 30 * DAY_MS + 1).toISOString();
    expect(read(last)).toEqual(at(last));
    expect(read(tooLate)).toEqual({ ok: false, why: 'must be at most 30 days ahead' });
    expect(read('9999-12-31T23:59:59Z').ok).toBe(false);
  });

  it.each([
    '',
    'tomorrow',
    '2028-02-21',
    '2028-02-21T00:00:00',
    '2028-02-21T00:00Z',
    '2028-02-21 00:00:00Z',
    '2028-02-21T00:00:00 Z',
    ' 2028-02-21T00:00:00Z',
    '2028-02-21T00:00:00Z\n',
    '2028-02-21T00:00:00+0100',
    '2028-02-21T00:00:00+01',
    '2028-02-21T00:00:00+24:00',
    '2028-02-21T00:00:00+01:60',
    '2028-02-21T00:00:00.Z',
    '2028-02-21T00:00:00,5Z',
    '2028-02-21T00:00:00.1234567890Z',
    '2028-02-21T24:00:00Z',
    '2028-02-21T00:60:00Z',
    // A leap second.
    '2028-02-21T23:59:60Z',
    '2028-02-30T00:00:00Z',
    '2027-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2028-04-31T00:00:00Z',
    '2028-00-10T00:00:00Z',
    '2028-13-10T00:00:00Z',
    '2028-13-01T00:00:00Z',
    '2028-00-01T00:00:00Z',
    '2028-02-00T00:00:00Z',
    '28-02-21T00:00:00Z',
    '+02028-02-21T00:00:00Z',
    1_834_000_000,
    null,
    {},
  ])('is not %j', (value) => {
    expect(read(value)).toEqual({
      ok: false,
      why: 'must be an RFC 3339 time, for example 2030-01-31T12:00:00Z',
    });
  });

  it('must be on a day of its month', () => {
    const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    for (const [index, length] of lengths.entries()) {
      const month = `2027-${String(index + 1).padStart(2, '0')}`;
      expect(read(`${month}-${length}T00:00:00Z`)).toEqual({ ok: true, sendAtMs: undefined });
      expect(read(`${month}-${length + 1}T00:00:00Z`).ok).toBe(false);
    }
  });

  it('is read like JavaScript reads the times that it writes', () => {
    const years = { min: new Date(nowMs), max: new Date(nowMs + 30 * DAY_MS), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(years), (date) => {
        expect(read(date.toISOString())).toEqual({
          ok: true,
          sendAtMs: date.getTime() > nowMs ? date.getTime() : undefined,
        });
      }),
    );
  });

  it('is read or refused, for any input', () => {
    const near = fc.string({ unit: fc.constantFrom(...'0129-:TZ.+'), maxLength: 30 });
    fc.assert(
      fc.property(fc.oneof(near, fc.anything()), (value) => typeof read(value).ok === 'boolean'),
    );
  });
});
