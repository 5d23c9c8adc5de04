import { describe, expect, it } from 'bun:test';
import { findLanguage } from '../model/texts.ts';
import { FieldFault } from '../refusal.ts';
import { readTexts } from './texts.ts';

const faultOf = (value: unknown) => {
  const read = readTexts(value);
  return read instanceof FieldFault ? `${read.field}: ${read.reason}` : undefined;
};

describe('the texts of a publish', () => {
  it('have a title, a body or both in each language', () => {
    const read = readTexts({ de: { title: 'Hallo', body: null }, 'PT-br': { body: 'Olá' } });
    expect(read instanceof FieldFault || [...(read.texts ?? [])]).toEqual([
      ['de', { title: 'Hallo', body: undefined }],
      ['pt-BR', { title: undefined, body: 'Olá' }],
    ]);
  });

  it('may be missing or empty', () => {
    for (const value of [undefined, null, {}, []])
      expect(readTexts(value)).toEqual({ texts: undefined });
  });

  for (const [value, fault] of [
    ['Hallo', 'texts: must be an object'],
    [['Hallo'], 'texts: must be an object'],
    [{ de: 'Hallo' }, 'texts.de: must be an object'],
    [{ de: {} }, 'texts.de: must have a title or a body'],
    [{ de: { title: 1 } }, 'texts.de.title: must be a string'],
    [{ de: { title: 'Hallo', body: {} } }, 'texts.de.body: must be a string'],
    [{ de: { body: 'a' }, DE: { body: 'b' } }, 'texts: has "de" twice'],
    [
      { de_AT: { body: 'a' } },
      'texts: must have language tags as its keys, such as pt-BR: "de_AT" is none',
    ],
    [
      Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`x-${n}`, { body: 'a' }])),
      'texts: has 51 languages: the limit is 50',
    ],
  ] as const) {
    it(`are refused: ${fault}`, () => expect(faultOf(value)).toBe(fault));
  }
});

describe('the language for a device', () => {
  const languages = new Set(['de', 'pt-BR', 'zh-Hant', 'en-x-shop']);
  for (const [wanted, found] of [
    ['de', 'de'],
    ['de-AT', 'de'],
    ['pt-BR', 'pt-BR'],
    ['pt', undefined],
    ['pt-PT', undefined],
    ['zh-Hant-TW-u-nu-latn', 'zh-Hant'],
    ['zh-TW', undefined],
    ['en-x-shop', 'en-x-shop'],
    ['en-x-shop-2', 'en-x-shop'],
    ['de-x-other', 'de'],
    ['den', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    it(`${wanted} is ${found ?? 'none of them'}`, () => {
      expect(findLanguage(languages, wanted)).toBe(found);
    });
  }

  it('drops a single letter with the subtag after it', () => {
    const asked: string[] = [];
    findLanguage(
      { has: (language) => asked.push(language) === 0 },
      'zh-Hant-CN-x-private1-private2',
    );
    expect(asked).toEqual([
      'zh-Hant-CN-x-private1-private2',
      'zh-Hant-CN-x-private1',
      'zh-Hant-CN',
      'zh-Hant',
      'zh',
    ]);
  });
});
