import { expect, it } from 'bun:test';
import { parseCores } from './cores.ts';

it('reads a list of cores', () => {
  expect(parseCores('0-2,5\n')).toEqual([0, 1, 2, 5]);
  expect(parseCores('7')).toEqual([7]);
  expect(parseCores('')).toEqual([]);
});
