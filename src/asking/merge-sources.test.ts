import { expect, it } from 'bun:test';
import type { SourceOfServer } from './facts/sources.ts';
import { mergeSources } from './merge-sources.ts';

const source = (more: Partial<SourceOfServer>): SourceOfServer => ({
  source: 0,
  url: 'postgres://db/shop',
  schema: 'fanfare',
  app: '1',
  instance: null,
  state: 'waiting',
  lagSeconds: 3,
  waiting: 1,
  failed: 0,
  lastFailure: null,
  why: '',
  ...more,
});

it('takes the figures of the follower, and says what each server does', () => {
  const [merged] = mergeSources([
    { node: 'a', answer: [source({})] },
    { node: 'b', answer: [source({ state: 'following', lagSeconds: 5 })] },
    { node: 'c', answer: [source({ state: 'away', lagSeconds: null, why: 'no' })] },
  ]);
  expect(merged).toMatchObject({ follower: 'b', lagSeconds: 5 });
  expect(merged?.servers).toEqual([
    { server: 'a', state: 'waiting', why: '' },
    { server: 'b', state: 'following', why: '' },
    { server: 'c', state: 'away', why: 'no' },
  ]);
});

it('takes those of another server while nobody follows, and lists what only some servers have', () => {
  const merged = mergeSources([
    { node: 'a', answer: [source({ state: 'away', lagSeconds: null }), source({ source: 1 })] },
    { node: 'b', answer: [source({})] },
  ]);
  expect(merged).toMatchObject([
    { source: 0, follower: null, lagSeconds: 3 },
    { source: 1, servers: [{ server: 'a' }] },
  ]);
});
