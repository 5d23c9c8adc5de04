import { expect, it } from 'bun:test';
import { ListChanges } from './changed-ids.ts';

it('says what is new in a list, what is gone, and what is different', () => {
  const first = { id: 'a', keys: ['k'] };
  const changes = new ListChanges([first, { id: 'b', keys: [] }]);
  expect(changes.to([first, { id: 'b', keys: [] }])).toEqual({});
  // Whoever holds the list may change what is in it.
  first.keys.push('another');
  expect(changes.to([first, { id: 'c', keys: [] }, { id: 'd', keys: [] }])).toEqual({
    created: 'c, d',
    changed: 'a',
    deleted: 'b',
  });
  expect(changes.to([])).toEqual({ deleted: 'a, c, d' });
});
