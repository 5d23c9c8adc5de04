import { describe, expect, it } from 'bun:test';
import {
  firstInstantOf,
  instantIn,
  type LocalTime,
  quietUntil,
  readLocalTime,
} from './local-time.ts';

const at = (text: string) => Date.parse(text);
const time = (text: string): LocalTime => readLocalTime(text) ?? ('' as LocalTime);

describe('a local time', () => {
  it('has a real day and hour, and no offset', () => {
    expect<unknown>(readLocalTime('2026-12-24T18:00')).toBe('2026-12-24T18:00:00');
    expect<unknown>(readLocalTime('2028-02-29T23:59:59')).toBe('2028-02-29T23:59:59');
    for (const text of [
      '',
      '2026-12-24',
      '2026-12-24 18:00',
      '2026-12-24T18',
      '2026-12-24T18:00Z',
      '2026-12-24T18:00+01:00',
      '2026-12-24T18:00:00.5',
      '2026-02-29T18:00',
      '2026-13-01T18:00',
      '2026-12-24T24:00',
      '2026-12-24T18:60',
      '2026-12-24T18:00:60',
      '2026-12-24T18:00[Europe/Berlin]',
    ]) {
      expect(readLocalTime(text)).toBeUndefined();
    }
  });

  it('comes at another moment in each zone, first at UTC+14', () => {
    const christmas = time('2026-12-24T18:00');
    expect(instantIn('Europe/Berlin', christmas)).toBe(at('2026-12-24T17:00:00Z'));
    expect(instantIn('America/Bogota', christmas)).toBe(at('2026-12-24T23:00:00Z'));
    expect(instantIn('Pacific/Kiritimati', christmas)).toBe(firstInstantOf(christmas));
    expect(instantIn('Mars/Olympus', christmas)).toBeUndefined();
  });

  it('moves forward by the gap if the clock skips it, and is the first if the clock repeats it', () => {
    expect(instantIn('Europe/Berlin', time('2026-03-29T02:30'))).toBe(at('2026-03-29T01:30:00Z'));
    expect(instantIn('Europe/Berlin', time('2026-10-25T02:30'))).toBe(at('2026-10-25T00:30:00Z'));
  });
});

describe('quiet hours', () => {
  const night = { from: '22:00', to: '07:30' };
  const noon = { from: '12:00', to: '13:00' };
  for (const [what, quiet, zone, now, end] of [
    ['have not begun', night, 'Europe/Berlin', '2026-12-24T20:59:59Z', undefined],
    ['begin', night, 'Europe/Berlin', '2026-12-24T21:00:00Z', '2026-12-25T06:30:00Z'],
    [
      'go on after midnight',
      night,
      'Europe/Berlin',
      '2026-12-25T06:29:59Z',
      '2026-12-25T06:30:00Z',
    ],
    ['are over', night, 'Europe/Berlin', '2026-12-25T06:30:00Z', undefined],
    ['may be within a day', noon, 'UTC', '2026-12-24T12:30:00Z', '2026-12-24T13:00:00Z'],
    ['are by the clock of the zone', noon, 'America/Bogota', '2026-12-24T12:30:00Z', undefined],
    [
      'are shorter when the clock skips an hour',
      night,
      'Europe/Berlin',
      '2026-03-28T22:00:00Z',
      '2026-03-29T05:30:00Z',
    ],
    [
      'are longer when it repeats one',
      night,
      'Europe/Berlin',
      '2026-10-24T21:00:00Z',
      '2026-10-25T06:30:00Z',
    ],
    [
      'end once more in a repeated hour',
      { from: '22:00', to: '02:30' },
      'Europe/Berlin',
      '2026-10-25T01:10:00Z',
      '2026-10-25T01:30:00Z',
    ],
    ['are not known in an unknown zone', night, 'Mars/Olympus', '2026-12-24T23:00:00Z', undefined],
  ] as const) {
    it(what, () => {
      const until = quietUntil(at(now), quiet, zone);
      expect(until && new Date(until).toISOString().replace('.000', '')).toBe(end);
    });
  }
});
