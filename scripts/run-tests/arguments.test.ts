import { expect, it } from 'bun:test';
import { type Arguments, readArguments } from './arguments.ts';

const testFiles = [
  'src/a/b.test.ts',
  'test/cli/serve.test.ts',
  'test/simulation/push-fuzz.test.ts',
];

const read = (...words: string[]): Arguments =>
  readArguments(words, {
    root: '/clone of ü',
    testFiles,
    exists: (path) => ['src/a/b.ts', 'src/a/c.ts', 'src', 'docs'].includes(path),
  });

it('runs everything without arguments', () => {
  expect(read()).toEqual({ mode: 'all', paths: [], options: [] });
});

it.each(['src/a/b.test.ts', './src/a/b.test.ts', 'src/', './src', 'test/cli', 'fuzz'])(
  'runs the tests of a file, a folder or a part of a path: %s',
  (path) => {
    expect(read(path)).toEqual({ mode: 'chosen', paths: [path], options: [] });
  },
);

it('takes an absolute path for one of the repository', () => {
  expect(read('/clone of ü/test/cli')).toMatchObject({ mode: 'chosen', paths: ['test/cli'] });
});

it('hands options to bun, with a pattern of several words', () => {
  expect(read('-t', 'a server stops', 'src', '--bail', '--seed=7')).toEqual({
    mode: 'chosen',
    paths: ['src'],
    options: ['-t', 'a server stops', '--bail', '--seed=7'],
  });
});

it('knows the unit tests and the matrix, whole or in parts', () => {
  expect(read('--unit')).toMatchObject({ mode: 'unit', paths: [] });
  expect(read('test/cli', '--matrix')).toMatchObject({ mode: 'matrix', paths: ['test/cli'] });
});

it('explains itself', () => {
  expect(read('src', '--help')).toEqual({ mode: 'help' });
  expect(read('-h')).toEqual({ mode: 'help' });
});

it.each([
  [['src/a/d.ts'], 'src/a/d.ts is no file or folder, and no test has this in its path.'],
  [['src/a/b.ts'], 'src/a/b.ts has no tests itself. They are in src/a/b.test.ts.'],
  [['src/a/c.ts'], 'src/a/c.ts has no tests.'],
  [['docs'], 'docs has no tests.'],
  [['./fuzz'], './fuzz is no file or folder, and no test has this in its path.'],
  [['-t'], '-t needs a value.'],
  [['--unit', '--matrix'], '--unit and --matrix exclude each other.'],
])('says what is wrong with %j', (words, problem) => {
  expect(read(...words)).toEqual({ mode: 'wrong', problems: [problem] });
});

it('tells all problems at once', () => {
  expect(read('docs', 'src', 'nowhere')).toMatchObject({ problems: { length: 2 } });
});
