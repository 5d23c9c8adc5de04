import { describe, expect, it } from 'bun:test';
import { Places } from './places.ts';

function stage(count: number) {
  const places = new Places(count);
  const lost: string[] = [];
  const take = (owner: string, isAdmin = false) =>
    places.take({ owner, isAdmin, displaced: () => void lost.push(owner) });
  return { places, lost, take };
}

describe('a few places', () => {
  it('are all taken by one owner only but for the last, which is for admins', () => {
    const { places, take } = stage(4);
    expect([take('a'), take('a'), take('a'), take('a')]).toEqual([true, true, true, false]);
    expect(take('ops', true)).toBe(true);
    expect(places.taken).toBe(4);
  });

  it('go from the owner with the most to one that would still have fewer', () => {
    const { lost, take } = stage(4);
    for (let n = 0; n < 3; n++) take('a');
    expect(take('b')).toBe(true);
    expect(lost).toEqual(['a']);
    // Both would have as many: there is no use in a change.
    expect(take('b')).toBe(false);
    expect(take('c')).toBe(true);
    expect(lost).toEqual(['a', 'a']);
    expect([take('a'), take('b'), take('c'), take('d')]).toEqual([false, false, false, false]);
  });

  it('are taken from an admin by others only if that makes room for them', () => {
    const { lost, take } = stage(4);
    for (let n = 0; n < 4; n++) take('ops', true);
    expect(take('a')).toBe(true);
    expect(take('b')).toBe(true);
    expect(lost).toEqual(['ops', 'ops']);
    const full = stage(3);
    full.take('ops', true);
    full.take('a');
    full.take('b');
    expect(full.take('c')).toBe(false);
    expect(full.lost).toEqual([]);
  });

  it('can be taken again once they are released', () => {
    const { places } = stage(2);
    const holder = { owner: 'a', isAdmin: false, displaced: () => undefined };
    expect(places.take(holder)).toBe(true);
    expect(places.canTake({ ...holder })).toBe(false);
    places.release(holder);
    expect(places.canTake({ ...holder })).toBe(true);
  });
});
