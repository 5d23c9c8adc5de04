import { describe, expect, it } from 'bun:test';
import { RoundRobin } from './round-robin.ts';

const anyItem = () => true;

function make(...names: readonly string[]) {
  const owners = new Map<string, object>();
  const queue = new RoundRobin<{ readonly owner: object; readonly name: string }>();
  const items = names.map((name) => {
    const owner = owners.get(name.slice(0, 1)) ?? {};
    owners.set(name.slice(0, 1), owner);
    return { owner, name };
  });
  for (const item of items) queue.add(item);
  return { queue, items };
}

describe('a round robin', () => {
  it('goes from one owner to the next, however many items each has', () => {
    const { queue } = make('a1', 'a2', 'a3', 'b1', 'c1');
    const names = Array.from({ length: 6 }, () => queue.next(anyItem)?.name);
    expect(names).toEqual(['a1', 'b1', 'c1', 'a1', 'b1', 'c1']);
  });

  it('stays with the first item of an owner until it is removed', () => {
    const { queue, items } = make('a1', 'a2', 'b1');
    const [a1] = items;
    if (a1 !== undefined) queue.remove(a1);
    const names = Array.from({ length: 4 }, () => queue.next(anyItem)?.name);
    expect(names.sort()).toEqual(['a2', 'a2', 'b1', 'b1']);
  });

  it('skips items that are not allowed', () => {
    const { queue } = make('a1', 'b1', 'c1');
    const isNotB = ({ name }: { readonly name: string }) => name !== 'b1';
    const names = Array.from({ length: 4 }, () => queue.next(isNotB)?.name);
    expect(names).toEqual(['a1', 'c1', 'a1', 'c1']);
    expect(queue.next(() => false)).toBeUndefined();
  });

  it('skips no owner when another has nothing left', () => {
    const { queue, items } = make('a1', 'b1', 'c1', 'd1', 'e1');
    expect(queue.next(anyItem)?.name).toBe('a1');
    expect(queue.next(anyItem)?.name).toBe('b1');
    for (const item of items.slice(0, 2)) queue.remove(item);
    expect(queue.next(anyItem)?.name).toBe('c1');
    expect(queue.next(anyItem)?.name).toBe('d1');
    for (const item of items) queue.remove(item);
    expect(queue.isEmpty).toBe(true);
    expect(queue.next(anyItem)).toBeUndefined();
  });
});
