import { describe, expect, it } from 'bun:test';
import { RoundRobin } from './round-robin.ts';

const anybody = () => true;

function make(...names: readonly string[]) {
  const owners = new Map<string, object>();
  const turns = new RoundRobin<{ readonly owner: object; readonly name: string }>();
  const items = names.map((name) => {
    const owner = owners.get(name.slice(0, 1)) ?? {};
    owners.set(name.slice(0, 1), owner);
    return { owner, name };
  });
  for (const item of items) turns.add(item);
  return { turns, items };
}

describe('turns', () => {
  it('go from one owner to the next, however much each of them has', () => {
    const { turns } = make('a1', 'a2', 'a3', 'b1', 'c1');
    const names = Array.from({ length: 6 }, () => turns.next(anybody)?.name);
    expect(names).toEqual(['a1', 'b1', 'c1', 'a1', 'b1', 'c1']);
  });

  it('stay with the first item of an owner until that is taken out', () => {
    const { turns, items } = make('a1', 'a2', 'b1');
    const [a1] = items;
    if (a1 !== undefined) turns.remove(a1);
    const names = Array.from({ length: 4 }, () => turns.next(anybody)?.name);
    expect(names.sort()).toEqual(['a2', 'a2', 'b1', 'b1']);
  });

  it('pass over those that may not have one', () => {
    const { turns } = make('a1', 'b1', 'c1');
    const isNotB = ({ name }: { readonly name: string }) => name !== 'b1';
    const names = Array.from({ length: 4 }, () => turns.next(isNotB)?.name);
    expect(names).toEqual(['a1', 'c1', 'a1', 'c1']);
    expect(turns.next(() => false)).toBeUndefined();
  });

  it('skip nobody when an owner has nothing left', () => {
    const { turns, items } = make('a1', 'b1', 'c1', 'd1', 'e1');
    expect(turns.next(anybody)?.name).toBe('a1');
    expect(turns.next(anybody)?.name).toBe('b1');
    for (const item of items.slice(0, 2)) turns.remove(item);
    expect(turns.next(anybody)?.name).toBe('c1');
    expect(turns.next(anybody)?.name).toBe('d1');
    for (const item of items) turns.remove(item);
    expect(turns.isEmpty).toBe(true);
    expect(turns.next(anybody)).toBeUndefined();
  });
});
