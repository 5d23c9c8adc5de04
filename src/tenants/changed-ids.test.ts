import { expect, it } from 'bun:test';
import { changedIds, snapshotOf } from './changed-ids.ts';

it('lists the ids that were created, changed and deleted', () => {
  const before = snapshotOf([
    { id: 'a', keys: ['k'] },
    { id: 'b', keys: [] },
  ]);
  expect(changedIds(before, before)).toEqual({});
  const after = snapshotOf([
    { id: 'a', keys: ['k', 'another'] },
    { id: 'c', keys: [] },
    { id: 'd', keys: [] },
  ]);
  expect(changedIds(before, after)).toEqual({ created: 'c, d', changed: 'a', deleted: 'b' });
  expect(changedIds(after, snapshotOf([]))).toEqual({ deleted: 'a, c, d' });
});

it('notices a tenant that is changed in place', () => {
  const app = { id: 'a', keys: ['k'] };
  const before = snapshotOf([app]);
  app.keys.push('another');
  expect(changedIds(before, snapshotOf([app]))).toEqual({ changed: 'a' });
});
