import { describe, expect, it } from 'bun:test';
import { appWith, socketId } from '../../channels/hub.fixture.ts';
import { Connections } from './connections.ts';
import { fakeSocket } from './socket.fixture.ts';

describe('the connections of a node', () => {
  it('are found by their id, and counted by app and for whoever reads the gauge', () => {
    const gauge = new Int32Array(1);
    const connections = new Connections(gauge);
    const [one, two] = [appWith({ id: '1' }), appWith({ id: '2' })];
    const { socket } = fakeSocket(0, '1.1');
    const id = socketId;

    connections.add(id('1.1'), one, socket, true);
    connections.add(id('2.1'), one, fakeSocket().socket, true);
    connections.add(id('3.1'), two, fakeSocket().socket, true);

    expect(connections.get(id('1.1'))).toBe(socket);
    expect(['1.2', '01.1', '1.01', '4.1'].map((text) => connections.get(id(text)))).toEqual(
      Array(4).fill(undefined),
    );
    // Half of an id is enough to find its connection by.
    expect(['1.1', '1.2', '4.1'].map((text) => connections.isTaken(id(text)))).toEqual([
      true,
      true,
      false,
    ]);
    expect([connections.countOf(one), connections.countOf(two)]).toEqual([2, 1]);
    expect([connections.size, gauge[0]]).toEqual([3, 3]);

    connections.remove(id('1.1'), one, true);
    // What is gone is not counted off again.
    connections.remove(id('1.1'), one, true);
    connections.remove(id('4.1'), one, true);

    expect(connections.get(id('1.1'))).toBeUndefined();
    expect([connections.countOf(one), connections.countOf(two)]).toEqual([1, 1]);
    expect([connections.size, gauge[0]]).toEqual([2, 2]);
  });

  it('may go while they are walked', () => {
    const connections = new Connections(new Int32Array(1));
    const app = appWith();
    const ids = ['1.1', '2.1', '3.1'].map(socketId);
    for (const id of ids) connections.add(id, app, fakeSocket().socket, true);

    let walked = 0;
    for (const _ of connections.all()) {
      walked++;
      for (const id of ids.splice(0, 2)) connections.remove(id, app, true);
    }

    expect(walked).toBe(2);
    expect(connections.size).toBe(0);
  });

  it('are all in one of so many parts, those that come and stay meanwhile too, and then again', () => {
    const connections = new Connections(new Int32Array(1));
    const app = appWith();
    const add = (id: string) => {
      const { socket } = fakeSocket(0, id);
      connections.add(socketId(id), app, socket, true);
      return id;
    };
    const next = (parts: number) =>
      connections.nextPart(parts).map(({ data }) => String(data.socketId));
    expect(next(3)).toEqual([]);

    const ids = Array.from({ length: 10 }, (_, at) => add(`${at + 1}.1`));
    const first = [next(3), next(3), next(3)];
    expect(first.map((part) => part.length)).toEqual([4, 4, 4]);
    expect(first.flat().slice(0, 10)).toEqual(ids);
    // It goes on where it stopped.
    expect(next(3)).toEqual(['3.1', '4.1', '5.1', '6.1']);

    connections.remove(socketId('7.1'), app, true);
    add('11.1');
    expect([next(5), next(5), next(5)]).toEqual([
      ['8.1', '9.1'],
      ['10.1', '11.1'],
      ['1.1', '2.1'],
    ]);
    expect(next(1)).toHaveLength(10);
  });
});
