import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FieldFault } from '../refusal.ts';
import { readAcceptLanguage, readPreferences } from './preferences.ts';

const fieldOf = (body: Parameters<typeof readPreferences>[0]) => {
  const read = readPreferences(body);
  return read instanceof FieldFault ? read.field : read;
};

describe('preferences', () => {
  it('keep what a body does not have, and forget what is null', () => {
    expect(readPreferences({})).toEqual({});
    const none = { language: null, timeZone: null, quietHours: null };
    expect(readPreferences(none)).toEqual(none);
  });

  it('have a language in canonical form', () => {
    expect(readPreferences({ language: 'PT-br' })).toEqual({ language: 'pt-BR' });
    for (const language of ['', 'd', 'de_AT', 'de-', 7, {}, `de-${'abcdefgh-'.repeat(4)}x`]) {
      expect(fieldOf({ language })).toBe('language');
    }
  });

  it('have a time zone that this server knows, and no offset', () => {
    for (const timeZone of ['Europe/Berlin', 'Asia/Calcutta', 'UTC', 'Etc/GMT+5']) {
      expect(readPreferences({ timeZone })).toEqual({ timeZone });
    }
    for (const timeZone of ['', '+05:30', 'Mars/Olympus', 'Europe/Berlin ', 7, 'a'.repeat(1000)]) {
      expect(fieldOf({ timeZone })).toBe('timeZone');
    }
  });

  it('have quiet hours that begin and end at different times, or none', () => {
    for (const quietHours of [
      'none',
      { from: '22:00', to: '07:30' },
      { from: '00:00', to: '23:59' },
    ]) {
      expect<object>(readPreferences({ quietHours })).toEqual({ quietHours });
    }
    const wrong = [
      'never',
      {},
      { from: '22:00' },
      { from: '22:00', to: '22:00' },
      { from: '24:00', to: '07:30' },
      { from: '7:30', to: '08:00' },
      { from: '22:00', to: 7 },
      ['22:00', '07:30'],
    ];
    for (const quietHours of wrong) expect(fieldOf({ quietHours })).toBe('quietHours');
  });
});

describe('an Accept-Language header', () => {
  for (const [header, language] of [
    [undefined, undefined],
    ['', undefined],
    ['*', undefined],
    ['de', 'de'],
    ['fr-ch, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5', 'fr-CH'],
    ['en;q=0.8,de;q=0.9', 'de'],
    ['en;q=0.8,de;q=0.8', 'en'],
    ['de;q=0, en;q=0.1', 'en'],
    ['de_DE, en;q=0.1', 'en'],
    ['de;q=2, en;q=0.1', 'en'],
    ['de;level=1, en;q=0.1', 'en'],
    ['*;q=1, pt-BR ; q=0.3', 'pt-BR'],
  ] as const) {
    it(`"${header}" names ${language ?? 'no language'}`, () => {
      expect(readAcceptLanguage(header)).toBe(language);
    });
  }

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const language = readAcceptLanguage(header);
        expect(language === undefined || language.length <= 35).toBe(true);
      }),
    );
  });
});
