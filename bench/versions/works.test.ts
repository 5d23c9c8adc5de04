import { expect, it } from 'bun:test';
import { chooseWorks } from './works.ts';

it('measures every work of the chosen scenarios', () => {
  expect(chooseWorks(['ingest', 'connect']).map(({ name }) => name)).toEqual([
    'ingest',
    'ingest',
    'connect',
  ]);
  expect(chooseWorks([]).length).toBeGreaterThan(10);
});

it('refuses scenarios without pieces of work', () => {
  expect(() => chooseWorks(['connect', 'idle'])).toThrow(
    '--beside measures no processor time of "idle", but of hot, ',
  );
});
