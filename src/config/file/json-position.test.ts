import { expect, it } from 'bun:test';
import fc from 'fast-check';
import { findJsonFault } from './json-position.ts';

it.each([
  ['', 0, 'expected a value'],
  ['{"a": 1,}', 8, 'expected a name in double quotes'],
  ['{"a" 1}', 5, 'expected a colon'],
  ['{"a": }', 6, 'expected a value'],
  ['{"a": 1 "b": 2}', 8, 'expected a comma or }'],
  ['[1 2]', 3, 'expected a comma or ]'],
  ['[1}', 2, 'expected a comma or ]'],
  ['[1,]', 3, 'expected a value'],
  ["{'a': 1}", 1, 'expected a name in double quotes'],
  ['{} // done', 3, 'expected the end of the file'],
  ['[01]', 1, 'expected a value'],
  ['["\n"]', 1, 'expected a value'],
  ['{"a": 1, "b": {"a": 1}, "a": 2}', 24, '"a" is set for the second time'],
  ['[{"a": 1}, {"a": 1, "\\u0061": 2}]', 20, '"\\u0061" is set for the second time'],
])('finds where %j stops being JSON, or sets a name again', (text, offset, why) => {
  expect(findJsonFault(text)).toEqual({ offset, why });
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
      const found = findJsonFault(text);
      const isSetAgain = found?.why.endsWith('is set for the second time') === true;
      // A name that is set again may be followed by anything.
      if (!isSetAgain) expect(found === undefined).toBe(isJson(text));
    }),
    { numRuns: 2000 },
  );
});
