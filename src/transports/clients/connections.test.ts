import { describe, expect, it } from 'bun:test';
import type { App } from '../../channels/app.ts';
import { appWith, socketId } from '../../channels/hub.fixture.ts';
import { addressOf, type PackedAddress, packAddress } from './addresses/packed-address.ts';
import { FakeConnection } from './connection.fixture.ts';
import { ClientConnections } from './connections.ts';

describe('the connections of a node', () => {
  it('are found by their id, and counted by app', () => {
    const connections = new ClientConnections();
    const [app, other] = [appWith({ id: '1' }), appWith({ id: '2' })];
    const first = new FakeConnection({ id: '1.1', app });

    connections.add(first);
    connections.add(new FakeConnection({ id: '2.1', app }));
    connections.add(new FakeConnection({ id: '3.1', app: other }));

    expect(connections.get(socketId('1.1'))).toBe(first);
    for (const id of ['1.2', '01.1', '1.01', '4.1']) {
      expect(connections.get(socketId(id))).toBeUndefined();
    }
    expect([connections.openOf(app), connections.openOf(other)]).toEqual([2, 1]);
    expect(connections.size).toBe(3);

    connections.remove(first);
    // Removing it again changes nothing.
    connections.remove(first);
    connections.remove(new FakeConnection({ id: '2.2', app }));

    expect(connections.get(socketId('1.1'))).toBeUndefined();
    expect([connections.openOf(app), connections.openOf(other)]).toEqual([1, 1]);
    expect(connections.size).toBe(2);
  });

  it('may be removed while they are iterated', () => {
    const connections = new ClientConnections();
    const all = ['1.1', '2.1', '3.1'].map((id) => new FakeConnection({ id }));
    for (const connection of all) connections.add(connection);

    let visited = 0;
    for (const _ of connections.all()) {
      visited++;
      for (const connection of all.splice(0, 2)) connections.remove(connection);
    }

    expect(visited).toBe(2);
    expect(connections.size).toBe(0);
  });

  /** Connections that are looked at in parts. */
  function walked() {
    const connections = new ClientConnections();
    const app = appWith();
    return {
      add: (half: number) => connections.add(new FakeConnection({ id: `${half}.1`, app })),
      remove(half: number) {
        const connection = connections.get(socketId(`${half}.1`));
        if (connection !== undefined) connections.remove(connection);
      },
      next: (parts: number) => connections.nextPart(parts).map(({ firstHalf }) => firstHalf),
    };
  }

  it('are each in one of the parts of a round; new ones are in the next round', () => {
    const { add, remove, next } = walked();
    expect([next(2), next(2)]).toEqual([[], []]);
    for (let half = 1; half <= 10; half++) add(half);
    expect([next(3), next(3), next(3)]).toEqual([
      [1, 2, 3, 4],
      [5, 6, 7],
      [8, 9, 10],
    ]);

    expect(next(2)).toEqual([1, 2, 3, 4, 5]);
    remove(7);
    add(11);
    expect(next(2)).toEqual([6, 8, 9, 10, 11]);
    expect(next(1)).toHaveLength(10);
  });

  it('are in one part of a round, even if there are fewer of them than parts', () => {
    const { add, next } = walked();
    add(1);
    add(2);
    const parts = Array.from({ length: 100 }, () => next(10)).flat();
    expect(parts.toSorted()).toEqual([...Array(10).fill(1), ...Array(10).fill(2)]);
  });

  it('are in one part of each round, however many others come and go', () => {
    const { add, remove, next } = walked();
    for (let half = 1; half <= 10; half++) add(half);
    const seen: number[] = [];
    for (let turn = 0; turn < 100; turn++) {
      for (let n = 0; n < 20; n++) {
        add(100 + 20 * turn + n);
        remove(80 + 20 * turn + n);
      }
      seen.push(...next(10).filter((half) => half <= 10));
    }
    const counts = Array.from({ length: 10 }, (_, at) => seen.filter((half) => half === at + 1));
    expect(counts.map(({ length }) => length)).toEqual(Array(10).fill(10));
  });
});

describe('connections of a full server', () => {
  const apps = ['a', 'b', 'c'].map((id) => appWith({ id }));

  /** A server for ten connections: `add` makes room as the transport does, and returns what happened. */
  function stage() {
    const connections = new ClientConnections(10);
    let added = 0;
    const add = (app: App | undefined, address: PackedAddress) => {
      if (app === undefined) throw new Error('There is no such app');
      const room = connections.roomFor(app, address);
      if (room === 'full') return 'full';
      if (room !== 'room') connections.remove(room);
      added++;
      connections.add(new FakeConnection({ id: `${added}.1`, address, app }));
      if (room === 'room') return 'room';
      const { app: yielding, address: of } = room;
      return `${yielding.id} ${typeof of === 'number' ? of : addressOf(of)}`;
    };
    const fill = (app: App | undefined, address: PackedAddress, count: number) =>
      Array.from({ length: count }, () => add(app, address));
    return { add, fill };
  }

  it('are all that one app and one address may have, and no more', () => {
    const { fill } = stage();
    expect(fill(apps[0], 1, 12)).toEqual([...Array(10).fill('room'), 'full', 'full']);
  });

  it('make room for another address until it has as many', () => {
    const { fill } = stage();
    fill(apps[0], 1, 10);
    expect(fill(apps[0], 2, 7)).toEqual([...Array(5).fill('a 1'), 'full', 'full']);
  });

  it('make room for another app, whatever the addresses of the largest one', () => {
    const { add, fill } = stage();
    for (let address = 1; address <= 10; address++) add(apps[0], address);
    expect(fill(apps[1], 11, 7)).toEqual([
      ...[1, 2, 3, 4, 5].map((address) => `a ${address}`),
      'full',
      'full',
    ]);
    expect(add(apps[2], 12)).toMatch(/^[ab] /);
  });

  it('end one of the address with the most in its app first', () => {
    const { add, fill } = stage();
    fill(apps[0], 1, 3);
    fill(apps[0], 2, 7);
    expect(add(apps[1], 3)).toBe('a 2');
  });

  it('count IPv6 addresses by their /64', () => {
    const { fill } = stage();
    const address = packAddress;
    fill(apps[0], address('2001:db8::1'), 5);
    fill(apps[0], address('2001:db8::2'), 5);
    expect(fill(apps[0], address('2001:db8::3'), 1)).toEqual(['full']);
    expect(fill(apps[0], address('2001:db8:0:1::1'), 1)).toEqual(['a 2001:db8::1']);
  });

  it('end one of the app that yields, however many another app has of one address', () => {
    const { add, fill } = stage();
    fill(apps[0], 1, 5);
    for (let address = 11; address <= 15; address++) add(apps[1], address);
    expect([add(apps[1], 16), add(apps[1], 17), add(apps[1], 1)]).toEqual(['full', 'full', 'full']);
  });

  it('of one address in two apps count for each app apart', () => {
    const { add, fill } = stage();
    fill(apps[0], 1, 4);
    fill(apps[1], 1, 2);
    fill(apps[1], 2, 4);
    expect(add(apps[2], 3)).toBe('b 2');
  });

  it('are chosen without a walk through all of them', () => {
    const connections = new ClientConnections(2000);
    const app = apps[0] ?? appWith();
    let read = 0;
    for (let n = 1; n <= 2000; n++) {
      const connection = new FakeConnection({ id: `${n}.1`, app });
      Object.defineProperty(connection, 'address', { get: () => read++ && n });
      connections.add(connection);
    }
    for (let n = 1; n <= 100; n++) {
      const other = apps[n % 2] ?? appWith();
      const room = connections.roomFor(other, 3000 + n);
      // One walk when the server is first full.
      if (n === 1) read = 0;
      if (room === 'full') continue;
      if (room === 'room') throw new Error('The server is not full');
      connections.remove(room);
      connections.add(new FakeConnection({ id: `${3000 + n}.1`, address: 3000 + n, app: other }));
    }
    expect(read).toBeLessThan(200);
  });
});
