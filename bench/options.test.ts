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
