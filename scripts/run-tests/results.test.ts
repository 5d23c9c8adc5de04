import { expect, it } from 'bun:test';
import { Results } from './results.ts';

function summaryOf(...lines: string[]): string {
  const results = new Results();
  for (const line of lines) results.add(line);
  return results.summary();
}

it('adds up what several runs counted', () => {
  const lines = [' 1200 pass', ' 0 fail', ' 9 expect() calls', ' 34 pass', ' 2 fail', ' 1 error'];
  expect(summaryOf(...lines)).toBe('\n 1234 pass\n 2 fail\n');
});

it('says that nothing was run', () => {
  expect(summaryOf()).toBe('\n 0 pass\n 0 fail\n');
});

it('lists the tests that failed by file, and files that cannot be run', () => {
  const lines = [
    'bun test v1.4.5 (a7733435c) 5x PARALLEL',
    '',
    'test/a.test.ts:',
    '12 |   expect(1).toBe(2);',
    '(fail) one > is two [0.47ms]',
    '(fail) one > is three [0.18ms]',
    'test/b.test.ts:',
    '\u001b[31m(fail)\u001b[0m four [1.00ms]',
    'src/page.test.tsx:',
    '# Unhandled error between tests',
    ' 2 fail',
  ];
  expect(summaryOf(...lines)).toBe(`
test/a.test.ts:
(fail) one > is two [0.47ms]
(fail) one > is three [0.18ms]

test/b.test.ts:
(fail) four [1.00ms]

src/page.test.tsx:
# Unhandled error between tests

 0 pass
 2 fail
`);
});

it('is not misled by what tests print', () => {
  const lines = [
    '3 pass the salt',
    ' 7 passes',
    'the fail 3',
    ' -1 fail',
    '  (fail) indented',
    'a b.test.ts:',
  ];
  expect(summaryOf(...lines)).toBe('\n 0 pass\n 0 fail\n');
});
