import { describe, expect, it } from 'bun:test';
import { RequestScheduler, type ScheduledRequest } from './request-scheduler.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A scheduler, and the owners of the requests that it started. */
function scene(costPerTurn: (waitingOwners: number) => number = () => 100) {
  const started: string[] = [];
  const scheduler = new RequestScheduler<string>(costPerTurn);
  const add = (owner: string, cost = 1, answered?: Promise<void>): ScheduledRequest<string> => {
    const request = {
      owner,
      cost,
      start: () => {
        started.push(owner);
        return answered;
      },
    };
    scheduler.add(request);
    return request;
  };
  return { scheduler, started, add };
}

describe('scheduled requests', () => {
  it('start at once until the turn is full', async () => {
    const { started, add } = scene();
    for (let n = 0; n < 100; n++) add('a');
    expect(started).toHaveLength(100);
    add('a');
    expect(started).toHaveLength(100);
    await nextTurn();
    expect(started).toHaveLength(101);
  });

  it('start one owner after the other, so that a flood of one does not delay the others', async () => {
    const { started, add } = scene();
    for (let n = 0; n < 1000; n++) add('flood');
    add('honest');
    add('other');
    await nextTurn();
    expect(started.slice(100, 104)).toEqual(['flood', 'honest', 'other', 'flood']);
  });

  it('fill a turn whose size depends on how many owners wait', async () => {
    const { started, add } = scene((owners) => (owners > 1 ? 4 : 10));
    for (let n = 0; n < 50; n++) add('a');
    expect(started).toHaveLength(10);
    add('b', 2);
    await nextTurn();
    expect(started.slice(10)).toEqual(['a', 'b', ...Array(7).fill('a')]);
  });

  it('start one per turn if each costs more than a turn', async () => {
    const { started, add } = scene();
    for (let n = 0; n < 3; n++) add('a', 1000);
    for (const count of [1, 2, 3]) {
      expect(started).toHaveLength(count);
      await nextTurn();
    }
  });

  it('wait while too many others wait for the store', async () => {
    const { started, add } = scene();
    const gate = Promise.withResolvers<void>();
    for (let n = 0; n < 700; n++) add('a', 1, gate.promise);
    for (let turn = 0; turn < 9; turn++) await nextTurn();
    expect(started).toHaveLength(512);
    gate.resolve();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(started).toHaveLength(700);
  });

  it('do not start once they are removed', async () => {
    const { scheduler, started, add } = scene();
    add('a', 200);
    const [first, second] = [add('b'), add('b')];
    scheduler.remove(first);
    scheduler.remove(second);
    scheduler.remove(second);
    add('c');
    await nextTurn();
    expect(started).toEqual(['a', 'c']);
  });
});
