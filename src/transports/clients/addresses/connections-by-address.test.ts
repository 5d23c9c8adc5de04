import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeConnection } from '../connection.fixture.ts';
import type { ClientConnection } from '../connection.ts';
import { ConnectionsByAddress } from './connections-by-address.ts';

const connectionOf = (address: number) => new FakeConnection({ address });

describe('the connections of an app', () => {
  it('yield to an address until it would have as many as the largest', () => {
    const connections = new ConnectionsByAddress();
    const first = connectionOf(1);
    const second = connectionOf(1);
    for (const one of [first, second, connectionOf(1), connectionOf(2)]) connections.add(one);
    expect(connections.yieldsTo(3)).toBe(first);
    expect(connections.yieldsTo(2)).toBe(first);
    expect(connections.yieldsTo(1)).toBeUndefined();
    connections.remove(second);
    expect(connections.yieldsTo(3)).toBe(first);
    expect(connections.yieldsTo(2)).toBeUndefined();
  });

  it('are always taken from an address that has most, whatever came and went', () => {
    const step = fc.record({ address: fc.integer({ min: 1, max: 4 }), comes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const connections = new ConnectionsByAddress();
        const model = new Map<number, ClientConnection[]>();
        for (const { address, comes } of steps) {
          const alike = model.get(address) ?? [];
          model.set(address, alike);
          if (comes) {
            const connection = connectionOf(address);
            alike.push(connection);
            connections.add(connection);
          } else {
            const gone = alike.splice(alike.length >> 1, 1);
            for (const connection of gone) connections.remove(connection);
            // What is gone is not taken out again.
            for (const connection of gone) connections.remove(connection);
          }
          const most = Math.max(...[...model.values()].map(({ length }) => length));
          const largest = connections.largest();
          expect(connections.isEmpty).toBe(most === 0);
          if (largest === undefined) expect(most).toBe(0);
          else {
            const of = model.get(Number(largest.address));
            expect(of?.[0]).toBe(largest);
            expect(of).toHaveLength(most);
          }
        }
      }),
    );
  });
});
