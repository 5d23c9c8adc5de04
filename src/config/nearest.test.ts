import { expect, it } from 'bun:test';
import { didYouMean, nearest } from './nearest.ts';

it.each([
  ['prot', 'port'],
  ['Port', 'port'],
  ['hots', 'host'],
  ['maxConections', 'maxConnections'],
  ['max_connections', 'maxConnections'],
  ['', undefined],
  ['apple', undefined],
])('takes %j for %p', (name, meant) => {
  expect(nearest(name, ['host', 'port', 'maxConnections'])).toBe(meant);
});

it('suggests a name only where one is close', () => {
  expect(didYouMean('prot', ['port'])).toBe(', did you mean "port"?');
  expect(didYouMean('other', ['port'])).toBe('');
});
