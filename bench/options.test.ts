import { expect, it } from 'bun:test';
import { helpFor, readOptions } from './options.ts';
import { scenarios } from './scenarios.ts';

it('accepts scenarios by name and refuses unknown ones', () => {
  expect(readOptions(['hot', 'spread-256'], scenarios).names).toEqual(['hot', 'spread-256']);
  expect(() => readOptions(['hot', 'warm'], scenarios)).toThrow('there is no scenario "warm"');
  expect(readOptions([], scenarios).names).toEqual([]);
});

it('lists every scenario once in its help', () => {
  const names = scenarios.map(({ name }) => name);

  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(helpFor(scenarios)).toContain(`  ${name} `);
});

it('computes what clusters cost, and nothing else', () => {
  expect(readOptions(['cluster', '--model'], scenarios).model).toBe(true);
  expect(() => readOptions(['hot', '--model'], scenarios)).toThrow('--model is of cluster alone');
});

it('compares with a commit, and with nothing else at the same time', () => {
  expect(readOptions(['--beside', 'HEAD~1', 'hot'], scenarios).beside).toBe('HEAD~1');
  const threads = ['--threads', '4'];
  expect(readOptions(['--beside', 'HEAD', 'cluster', ...threads], scenarios).threads).toBe(4);
  expect(() => readOptions(['--beside', 'HEAD', 'hot', ...threads], scenarios)).toThrow(
    '--threads',
  );
  for (const more of [['--floor-twice'], ['--url', 'http://127.0.0.1:1']]) {
    expect(() => readOptions(['--beside', 'HEAD', ...more], scenarios)).toThrow(
      '--beside compares',
    );
  }
});
