import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { surplusOf } from './surplus.ts';

const of = (owner: string, ...silences: readonly number[]) =>
  silences.map((silentMs) => ({ owner, silentMs }));

describe('the connections to close', () => {
  it('are none while there is room', () => {
    expect(surplusOf([...of('a', 1, 2), ...of('b', 3)], 3)).toEqual([]);
  });

  it('are those of the address with most that were silent longest', () => {
    expect(surplusOf([...of('loud', 5, 1, 9, 7), ...of('b', 99)], 3)).toEqual(of('loud', 7, 9));
  });

  it('are of all addresses that have more than the rest', () => {
    const surplus = surplusOf([...of('a', 1, 2, 3), ...of('b', 4, 5, 6), ...of('c', 7)], 5);
    expect(surplus).toEqual([...of('a', 3), ...of('b', 6)]);
  });

  it('leave as many as may be kept, and no address with more than another one has lost', () => {
    const sockets = fc.array(
      fc.record({ owner: fc.constantFrom('a', 'b', 'c', 'd'), silentMs: fc.nat(1000) }),
    );
    fc.assert(
      fc.property(sockets, fc.nat(40), (all, kept) => {
        const closed = new Set(surplusOf(all, kept));
        const left = all.filter((socket) => !closed.has(socket));
        expect(left.length).toBeLessThanOrEqual(kept);
        if (all.length <= kept) expect(closed.size).toBe(0);
        const sizes = (of: typeof all) => (owner: string) =>
          of.filter((socket) => socket.owner === owner).length;
        for (const { owner } of closed) {
          for (const other of 'abcd') {
            expect(sizes(left)(other)).toBeLessThanOrEqual(sizes(left)(owner) + 1);
          }
        }
      }),
    );
  });
});
