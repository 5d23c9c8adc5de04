import { expect, it } from 'bun:test';
import { helpFor, readOptions } from './options.ts';
import { scenarios } from './scenarios.ts';

it('takes scenarios by name, and knows no others', () => {
  const read = readOptions(['--only', 'hot, spread-256'], scenarios);

  expect(read).toMatchObject({ ok: true, options: { only: ['hot', 'spread-256'] } });
  expect(readOptions(['--only', 'hot,warm'], scenarios)).toEqual({
    ok: false,
    why: 'there is no scenario "warm"',
  });
  expect(readOptions([], scenarios)).toMatchObject({ ok: true, options: { only: undefined } });
});

it('names every scenario in its help, each once', () => {
  const names = scenarios.map(({ name }) => name);

  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(helpFor(scenarios)).toContain(`  ${name} `);
});
