import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../testing/any-character.ts';
import { type Given, styles } from './library-signing.fixture.ts';
import {
  arrayForms,
  elementsOf,
  literalForm,
  type Parameter,
  parameterOf,
  readQuery,
} from './query.ts';

const signedForms = (parameters: readonly Parameter[]) => [
  literalForm(parameters),
  ...arrayForms(parameters),
];

describe('a query', () => {
  it('is read in the order in which it is written, names in lower case, both decoded', () => {
    expect(readQuery('B=1&%41uth_Key=%C3%a9&b=%3D%26&c&=x&&d==')).toEqual([
      { name: 'b', value: '1' },
      { name: 'auth_key', value: 'é' },
      { name: 'b', value: '=&' },
      { name: 'c', value: '' },
      { name: '', value: 'x' },
      { name: 'd', value: '=' },
    ]);
    expect(readQuery('')).toEqual([]);
  });

  it('keeps text that is not escaped, or not UTF-8', () => {
    const texts = ['#', ',', '"', 'é', '%', '%4', '%zz', '%ff', '%c3', 'a%', '%ED%A0%80'];
    for (const text of texts) expect(readQuery(`a=${text}`)).toEqual([{ name: 'a', value: text }]);
    expect(readQuery('a=%41%ff%42')).toEqual([{ name: 'a', value: '%41%ff%42' }]);
    expect(readQuery('a=%41-%ff-%42')).toEqual([{ name: 'a', value: 'A-%ff-B' }]);
  });

  it('reads a plus sign as a space or as a plus, as the caller chooses', () => {
    expect(readQuery('a+b=c+d%2B')).toEqual([{ name: 'a b', value: 'c d+' }]);
    expect(readQuery('a+b=c+d%2B', 'plus')).toEqual([{ name: 'a+b', value: 'c+d+' }]);
  });

  it('returns the last value of a repeated parameter', () => {
    const parameters = readQuery('a=1&A=2&b=3');
    expect(parameterOf(parameters, 'a')).toBe('2');
    expect(parameterOf(parameters, 'c')).toBeUndefined();
  });

  it('has arrays in two spellings', () => {
    const parameters = readQuery('c[]=a&c[0]=b&C%5B%5D=c&c[x]=no&c=no&cc[]=no&c[1]=d');
    expect(elementsOf(parameters, 'c')).toEqual(['a', 'b', 'c', 'd']);
    expect(elementsOf(parameters, 'd')).toBeUndefined();
  });

  it('is read whatever it holds', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: anyCharacter }),
          fc.string({
            unit: fc.constantFrom('%', '&', '=', '+', '[', ']', '4', 'f', 'C', '\ud800'),
          }),
        ),
        (query) => {
          for (const plus of ['space', 'plus'] as const) {
            const parameters = readQuery(query, plus);
            expect(parameters).toBeArray();
            expect(signedForms(parameters).every((form) => typeof form === 'string')).toBe(true);
            for (const { name } of parameters) {
              expect(parameterOf(parameters, name)).toBeString();
              elementsOf(parameters, name);
            }
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('is read in linear time', () => {
    // With a step for each pair of characters, it would not end while a test may run.
    for (const part of ['[', '[1', '%', '%f', ']', 'a[]&', '&', '=']) {
      const parameters = readQuery(part.repeat(400_000 / part.length));
      signedForms(parameters);
      elementsOf(parameters, 'a');
    }
  });
});

describe('the signed form of a query', () => {
  const forms = (query: string) => signedForms(readQuery(query));

  it('are all its parameters but the signature, sorted by name', () => {
    expect(forms('b=2&auth_signature=x&a=1&AUTH_KEY=k&a1=3&a_=4')).toEqual([
      'a=1&a1=3&a_=4&auth_key=k&b=2',
    ]);
  });

  it('are decoded values', () => {
    expect(forms('b=%7B%22a%22%3A1%7D&a=x%26y%3D+z')).toEqual(['a=x&y= z&b={"a":1}']);
  });

  it('are the elements of an array in their order, however they are sent', () => {
    for (const query of ['k[]=b&k[]=a', 'k[0]=b&k[1]=a', 'k%5B%5D=b&k%5b%5d=a']) {
      const [, ruby, php] = forms(query);
      expect(ruby).toBe('k[]=b&k[]=a');
      expect(php).toBe('k=b,a');
    }
  });

  it('is an array under its bare name: k stands before k1, and k[] behind it', () => {
    expect(forms('k1=x&k[]=a&k_=y')).toEqual([
      'k1=x&k[]=a&k_=y',
      'k[]=a&k1=x&k_=y',
      'k=a&k1=x&k_=y',
    ]);
  });

  it('is the one a library signs, for any parameters', () => {
    const texts = fc.string({ unit: anyCharacter, maxLength: 10 });
    const givens: fc.Arbitrary<readonly Given[]> = fc.uniqueArray(
      fc.tuple(
        texts.filter((name) => name !== '' && !/\]$|^auth_signature$/i.test(name)),
        fc.oneof(texts, fc.array(texts, { minLength: 1, maxLength: 4 })),
      ),
      { selector: ([name]) => name.toLowerCase() },
    );
    fc.assert(
      fc.property(givens, fc.constantFrom(...styles), (given, style) => {
        expect(forms(style.sent(given))).toContain(style.signed(given));
      }),
      { numRuns: 1000 },
    );
  });
});
