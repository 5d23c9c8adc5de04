import { describe, expect, it } from 'bun:test';
import { FakeTime } from '../../../testing/fake-time.ts';
import { NearSearch } from './near-search.ts';

function stage() {
  const time = new FakeTime();
  const asked: string[] = [];
  const search = new NearSearch({
    timers: time,
    occupied: async (appId) => {
      asked.push(appId);
      return ['orders', 'room-1'];
    },
  });
  const found: (readonly [string, string])[] = [];
  const find = (appId: string, ...names: string[]) =>
    search.find(appId, names).then((near) => {
      found.push(...near);
      return [...near];
    });
  return { time, asked, found, find };
}

describe('the search for channels that were meant', () => {
  it('makes one suggestion at a time, 200 ms apart, for all apps together', async () => {
    const { time, found, find } = stage();
    const all = [find('a', 'order', 'rom-1', 'nothing-like-it'), find('b', 'ordres')];
    for (const [atMs, count] of [
      [0, 0],
      [200, 0],
      [200, 2],
      [200, 3],
    ] as const) {
      await time.advance(atMs);
      expect(found).toHaveLength(count);
    }
    expect(await Promise.all(all)).toEqual([
      [
        ['order', 'orders'],
        ['rom-1', 'room-1'],
      ],
      [['ordres', 'orders']],
    ]);
  });

  it('gives up what is too much: three names of an app, twelve in all', async () => {
    const { time, asked, find } = stage();
    const waiting = ['a', 'b', 'c', 'd'].map((app) => find(app, 'order', 'rom-1', 'x', 'y'));
    expect(await find('a', 'order')).toEqual([]);
    expect(await find('e', 'order')).toEqual([]);
    expect(asked).toEqual(['a', 'b', 'c', 'd']);
    await time.advance(12 * 200);
    for (const near of await Promise.all(waiting)) expect(near).toHaveLength(2);
    const later = find('e', 'order');
    await time.advance(200);
    expect(await later).toEqual([['order', 'orders']]);
  });
});
