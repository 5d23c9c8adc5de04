import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { Socket } from '../websocket/connection.ts';
import { fakeSocket } from '../websocket/socket.fixture.ts';
import { ConnectionsByAddress } from './connections-by-address.ts';

const socketOf = (address: number) => fakeSocket(0, '1.1', address).socket;

describe('the connections of an app', () => {
  it('yield to an address until it would have as many as the largest', () => {
    const connections = new ConnectionsByAddress();
    const sockets = [1, 1, 1, 2].map(socketOf);
    for (const socket of sockets) connections.add(socket);
    expect(connections.yieldsTo(3)).toBe(sockets[0]);
    expect(connections.yieldsTo(2)).toBe(sockets[0]);
    expect(connections.yieldsTo(1)).toBeUndefined();
    connections.remove(sockets[1] as Socket);
    expect(connections.yieldsTo(3)).toBe(sockets[0]);
    expect(connections.yieldsTo(2)).toBeUndefined();
  });

  it('are always taken from an address that has most, whatever came and went', () => {
    const step = fc.record({ address: fc.integer({ min: 1, max: 4 }), comes: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const connections = new ConnectionsByAddress();
        const model = new Map<number, Socket[]>();
        for (const { address, comes } of steps) {
          const alike = model.get(address) ?? [];
          model.set(address, alike);
          if (comes) {
            alike.push(socketOf(address));
            connections.add(alike.at(-1) as Socket);
          } else {
            const gone = alike.splice(alike.length >> 1, 1);
            for (const socket of gone) connections.remove(socket);
            // What is gone is not taken out again.
            for (const socket of gone) connections.remove(socket);
          }
          const most = Math.max(...[...model.values()].map(({ length }) => length));
          const largest = connections.largest();
          expect(connections.isEmpty).toBe(most === 0);
          if (largest === undefined) expect(most).toBe(0);
          else {
            const of = model.get(Number(largest.data.address));
            expect(of?.[0]).toBe(largest);
            expect(of).toHaveLength(most);
          }
        }
      }),
    );
  });
});
