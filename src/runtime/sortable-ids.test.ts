import { describe, expect, it } from 'bun:test';
import { SortableIds } from './sortable-ids.ts';

const NOW_MS = 1_800_000_000_000;

describe('ids', () => {
  it('are UUIDs of version 7 with the time at which they are made', () => {
    const id = new SortableIds().next(NOW_MS);
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(NOW_MS);
  });

  it('sort in the order in which they are made, however many in a millisecond and whatever the clock does', () => {
    const ids = new SortableIds();
    const made: string[] = [];
    for (const atMs of [NOW_MS, NOW_MS, NOW_MS - 3_600_000, NOW_MS + 86_400_000, NOW_MS, 0]) {
      for (let n = 0; n < 5_000; n++) made.push(ids.next(atMs));
    }
    expect(new Set(made).size).toBe(made.length);
    expect(made.toSorted()).toEqual(made);
  });

  it('follow those of an earlier process, and no text that is not an id', () => {
    const before = new SortableIds();
    const last = Array.from({ length: 10 }, () => before.next(NOW_MS)).at(-1) ?? '';
    const ids = new SortableIds();
    ids.follow('');
    ids.follow('no id at all');
    ids.follow(last);
    expect(ids.next(NOW_MS - 86_400_000) > last).toBe(true);
  });
});
