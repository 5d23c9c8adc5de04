import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { findJsonFault } from './json-position.ts';

it.each([
  ['', 0, 'a value'],
  ['{"a": 1,}', 8, 'a name in double quotes'],
  ['{"a" 1}', 5, 'a colon'],
  ['{"a": }', 6, 'a value'],
  ['{"a": 1 "b": 2}', 8, 'a comma or }'],
  ['[1 2]', 3, 'a comma or ]'],
  ['[1}', 2, 'a comma or ]'],
  ['[1,]', 3, 'a value'],
  ["{'a': 1}", 1, 'a name in double quotes'],
  ['{} // done', 3, 'the end of the file'],
  ['[01]', 1, 'a value'],
  ['["\n"]', 1, 'a value'],
])('finds where %j stops being JSON', (text, offset, expected) => {
  expect(findJsonFault(text)).toEqual({ offset, expected });
});

it('agrees with the parser on what is JSON', () => {
  const isJson = (text: string) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false; // How the parser refuses.
    }
  };
  const piece = fc.constantFrom(
    ...'{}[]:,-+.019eE" \n',
    '"a"',
    '"\\n"',
    '"\\u00e9"',
    'true',
    'null',
  );
  const pieces = fc.array(piece, { maxLength: 12 }).map((found) => found.join(''));
  const spoiled = fc
    .tuple(fc.json(), fc.nat(), fc.string({ maxLength: 1 }))
    .map(([text, at, piece]) => {
      const cut = at % (text.length + 1);
      return text.slice(0, cut) + piece + text.slice(cut + 1);
    });

  fc.assert(
    fc.property(fc.oneof(fc.json(), pieces, spoiled, fc.string()), (text) => {
      expect(findJsonFault(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: 2000 },
  );
});
