import { describe, expect, it } from 'bun:test';
import { RequestScheduler, type WaitingRequest } from './request-scheduler.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Turns, and which requests they have begun. */
function scene(costPerTurn: (waitingOwners: number) => number = () => 100) {
  const begun: string[] = [];
  const turns = new RequestScheduler<string>(costPerTurn);
  const add = (owner: string, cost = 1, answered?: Promise<void>): WaitingRequest<string> => {
    const request = {
      owner,
      cost,
      start: () => {
        begun.push(owner);
        return answered;
      },
    };
    turns.add(request);
    return request;
  };
  return { turns, begun, add };
}

describe('requests that take turns', () => {
  it('begin at once as long as the turn has room for them', async () => {
    const { begun, add } = scene();
    for (let n = 0; n < 100; n++) add('a');
    expect(begun).toHaveLength(100);
    add('a');
    expect(begun).toHaveLength(100);
    await nextTurn();
    expect(begun).toHaveLength(101);
  });

  it('begin in turn by owner, so that a flood of one does not hold up the others', async () => {
    const { begun, add } = scene();
    for (let n = 0; n < 1000; n++) add('flood');
    add('honest');
    add('other');
    await nextTurn();
    expect(begun.slice(100, 104)).toEqual(['flood', 'honest', 'other', 'flood']);
  });

  it('are as many as the turn may cost, which may depend on how many wait', async () => {
    const { begun, add } = scene((owners) => (owners > 1 ? 4 : 10));
    for (let n = 0; n < 50; n++) add('a');
    expect(begun).toHaveLength(10);
    add('b', 2);
    await nextTurn();
    expect(begun.slice(10)).toEqual(['a', 'b', ...Array(7).fill('a')]);
  });

  it('begin one by one where each costs more than a turn', async () => {
    const { begun, add } = scene();
    for (let n = 0; n < 3; n++) add('a', 1000);
    for (const count of [1, 2, 3]) {
      expect(begun).toHaveLength(count);
      await nextTurn();
    }
  });

  it('wait for those that the store has not answered, where these are many', async () => {
    const { begun, add } = scene();
    const gate = Promise.withResolvers<void>();
    for (let n = 0; n < 700; n++) add('a', 1, gate.promise);
    for (let turn = 0; turn < 9; turn++) await nextTurn();
    expect(begun).toHaveLength(512);
    gate.resolve();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(begun).toHaveLength(700);
  });

  it('do not begin once they were taken away', async () => {
    const { turns, begun, add } = scene();
    add('a', 200);
    const [first, second] = [add('b'), add('b')];
    turns.remove(first);
    turns.remove(second);
    turns.remove(second);
    add('c');
    await nextTurn();
    expect(begun).toEqual(['a', 'c']);
  });
});
