import { expect, it } from 'bun:test';
import { RecentEnvironments } from './environments.ts';

it('forgets the oldest tokens first', () => {
  const memory = new RecentEnvironments(2);
  memory.set('a', 'sandbox');
  memory.set('b', 'sandbox');
  memory.set('a', 'production');
  memory.set('c', 'sandbox');
  expect(['a', 'b', 'c'].map((token) => memory.get(token))).toEqual([
    'production',
    undefined,
    'sandbox',
  ]);
});
