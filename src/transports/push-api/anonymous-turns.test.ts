import { describe, expect, it } from 'bun:test';
import { AnonymousTurns, type WaitingRequest } from './anonymous-turns.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Turns, and which requests they have begun. */
function scene() {
  const begun: string[] = [];
  const clock = { nowMs: 0 };
  const turns = new AnonymousTurns(() => clock.nowMs);
  const add = (owner: string, cost = 1, answered?: Promise<void>): WaitingRequest => {
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
  return { turns, begun, clock, add };
}

describe('anonymous requests', () => {
  it('begin at once as long as a turn has room for them', async () => {
    const { begun, add } = scene();
    for (let n = 0; n < 128; n++) add('a');
    expect(begun).toHaveLength(128);
    add('a');
    expect(begun).toHaveLength(128);
    await nextTurn();
    expect(begun).toHaveLength(129);
  });

  it('begin in turn by address, so that a flood of one does not hold up the others', async () => {
    const { begun, add } = scene();
    for (let n = 0; n < 1000; n++) add('flood');
    add('honest');
    add('other');
    await nextTurn();
    expect(begun.slice(128, 132)).toEqual(['flood', 'honest', 'other', 'flood']);
  });

  it('are fewer in a turn while backends are asking, and for a moment after that', async () => {
    const { turns, begun, clock, add } = scene();
    turns.heardBackend();
    for (let n = 0; n < 100; n++) add('a');
    expect(begun).toHaveLength(8);
    await nextTurn();
    expect(begun).toHaveLength(16);
    clock.nowMs = 99;
    await nextTurn();
    expect(begun).toHaveLength(24);
    clock.nowMs = 100;
    await nextTurn();
    expect(begun).toHaveLength(100);
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
    for (let n = 0; n < 400; n++) add('a', 1, gate.promise);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(begun).toHaveLength(256);
    gate.resolve();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(begun).toHaveLength(400);
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
