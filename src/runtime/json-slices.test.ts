import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../testing/any-character.ts';
import { elementTexts, memberText } from './json-slices.ts';

describe('the text of a member', () => {
  it('keeps nothing of the text around it in memory', () => {
    const kept: (string | undefined)[] = [];
    const padding = ' '.repeat(400_000);
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    for (let n = 0; n < 100; n++) {
      const json = JSON.stringify({ n, data: { text: 'x'.repeat(200) } }).replace(
        '}}',
        `}${padding}}`,
      );
      kept.push(memberText(json, 'data'));
    }
    Bun.gc(true);
    expect(kept.every((text) => text?.length === 211)).toBe(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(20_000_000);
  });

  it.each<[string, string | undefined]>([
    ['{"k":1}', '1'],
    ['{"k":12345678901234567890}', '12345678901234567890'],
    [' {\n"k"\t:\r 1.0 } ', '1.0'],
    ['{"a":1,"k":"x","b":2}', '"x"'],
    ['{"k":"a\\"b\\\\","x":1}', '"a\\"b\\\\"'],
    ['{"k":"}],{["}', '"}],{["'],
    ['{"k": [ 1 , {"k":2} ] , "x":3}', '[ 1 , {"k":2} ]'],
    ['{"k":{"k":{"k":1}}}', '{"k":{"k":1}}'],
    ['{"a":{"k":1}}', undefined],
    ['{"a":"k","b":["k",1]}', undefined],
    ['{"k":1,"k":2}', '2'],
    ['{"\\u006b":1}', '1'],
    ['{"k":1,"\\u006b":null}', 'null'],
    ['{"k\\\\":1,"k":false}', 'false'],
    ['{"K":1}', undefined],
    ['{}', undefined],
    [' { } ', undefined],
    ['[]', undefined],
    ['["k",1]', undefined],
    ['"k"', undefined],
    ['null', undefined],
    ['1', undefined],
  ])('is extracted from %s', (json, text) => {
    expect(memberText(json, 'k')).toBe(text);
  });

  it('is found by names that are special elsewhere', () => {
    const json = '{"__proto__":{"a":1},"":2,"constructor":3,"a b":4,"é😀":5,"\\"":6,"\\ud800":7}';

    const names = ['__proto__', '', 'constructor', 'a b', 'é😀', '"', '\ud800', 'toString'];

    expect(names.map((name) => memberText(json, name))).toEqual([
      '{"a":1}',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      undefined,
    ]);
  });
});

describe('the texts of elements', () => {
  it.each<[string, string[]]>([
    ['[]', []],
    [' [ \n ] ', []],
    ['[1]', ['1']],
    [
      ' [ 1.0 ,"a,b]" ,[ 2 , 3 ],{"a":[]}\t,null] ',
      ['1.0', '"a,b]"', '[ 2 , 3 ]', '{"a":[]}', 'null'],
    ],
    ['[[],[[]],""]', ['[]', '[[]]', '""']],
    ['{}', []],
    ['{"a":[1]}', []],
    ['"[1]"', []],
  ])('are extracted from %s', (json, texts) => {
    expect(elementTexts(json)).toEqual(texts);
  });
});

describe('any JSON', () => {
  const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 });
  const hex = fc.integer({ min: 0, max: 0xffff }).map((code) => code.toString(16).padStart(4, '0'));
  const string = fc
    .array(
      fc.oneof(
        fc
          .string({ unit: anyCharacter, maxLength: 4 })
          .map((text) => JSON.stringify(text).slice(1, -1)),
        fc.constantFrom(...'\\" \\\\ \\/ \\b \\n / { } [ ] , : k e'.split(' ')),
        hex.map((digits) => `\\u${digits}`),
        hex.map((digits) => `\\u${digits.toUpperCase()}`),
      ),
      { maxLength: 4 },
    )
    .map((parts) => `"${parts.join('')}"`);
  const number = fc.oneof(
    fc.constantFrom('0', '-0', '1.0', '1E400', '-1e-7', '12345678901234567890', '0.1000'),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => JSON.stringify(value)),
  );
  const key = fc.oneof(string, fc.constantFrom('"k"', '"\\u006b"', '"data"', '"__proto__"', '""'));
  /** The text of JSON as someone may have written it, with spaces, escapes and repeated keys. */
  const { value } = fc.letrec<{ value: string }>((tie) => {
    const spaced = fc.tuple(space, tie('value'), space).map((parts) => parts.join(''));
    const member = fc
      .tuple(space, key, space, spaced)
      .map(([before, name, after, text]) => `${before}${name}${after}:${text}`);
    const list = (open: string, close: string, inside: fc.Arbitrary<string>) =>
      fc.oneof(
        space.map((text) => open + text + close),
        fc
          .array(inside, { minLength: 1, maxLength: 4 })
          .map((parts) => open + parts.join(',') + close),
      );
    return {
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(number, string, fc.constantFrom('true', 'false', 'null')),
        list('[', ']', spaced),
        list('{', '}', member),
      ),
    };
  });
  const json = fc.tuple(space, value, space).map((parts) => parts.join(''));

  it('is cut into members with the same values as its own', () => {
    fc.assert(
      fc.property(json, (text) => {
        const whole = JSON.parse(text);
        const object = typeof whole === 'object' && whole !== null && !Array.isArray(whole);
        const names = object ? Object.keys(whole) : [];

        for (const name of names) {
          const found = memberText(text, name);
          expect(found).toBeDefined();
          expect(text).toContain(String(found));
          expect(found).toBe(found?.trim());
          expect(JSON.parse(String(found))).toEqual(
            Object.getOwnPropertyDescriptor(whole, name)?.value,
          );
        }
        for (const name of ['k', 'data', '__proto__', 'absent']) {
          if (!names.includes(name)) expect(memberText(text, name)).toBeUndefined();
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('is cut into elements with the same values as its own', () => {
    fc.assert(
      fc.property(json, (text) => {
        const whole = JSON.parse(text);
        const texts = elementTexts(text);

        expect(texts.map((one) => JSON.parse(one))).toEqual(Array.isArray(whole) ? whole : []);
        for (const one of texts) expect(one).toBe(one.trim());
      }),
      { numRuns: 1000 },
    );
  });
});

describe('a million levels', () => {
  const deep = '['.repeat(1_000_000) + ']'.repeat(1_000_000);

  it('are one value', () => {
    expect(memberText(`{"a":${deep},"k":${deep}}`, 'k') === deep).toBe(true);
    expect(elementTexts(`[1,${deep}]`).map((text) => text.length)).toEqual([1, deep.length]);
  });
});
