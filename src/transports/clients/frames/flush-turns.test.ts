import { describe, expect, it } from 'bun:test';
import type { App } from '../../../channels/app.ts';
import { appWith } from '../../../channels/hub.fixture.ts';
import { FlushTurns } from './flush-turns.ts';

/** A loop whose flushes take a tenth of a millisecond each. */
function loop({ busyShare = 0 } = {}) {
  let nowMs = 1000;
  let turns: (() => void)[] = [];
  const pauses: number[] = [];
  const flushed: { readonly app: App }[] = [];
  const flushTurns = new FlushTurns<{ readonly app: App }>({
    now: () => nowMs,
    busyShare: () => busyShare,
    afterTurn: (run) => void turns.push(run),
    after(delayMs, run) {
      pauses.push(delayMs);
      turns.push(run);
    },
    flush(connection) {
      flushed.push(connection);
      nowMs += 0.1;
    },
  });
  const connections = (app: App, count: number) => Array.from({ length: count }, () => ({ app }));
  return {
    flushTurns,
    flushed,
    pauses,
    connections,
    /** Ends a turn of the loop; returns how many were flushed. */
    turn() {
      const before = flushed.length;
      const planned = turns;
      turns = [];
      for (const run of planned) run();
      return flushed.length - before;
    },
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

describe('connections with new messages', () => {
  it('are flushed once per turn, however many messages they have', () => {
    const { flushTurns, connections, turn } = loop();
    const [one] = connections(appWith(), 1);
    if (one === undefined) throw new Error('There is one');
    for (let message = 0; message < 3; message++) flushTurns.add(one);
    expect(turn()).toBe(1);
    expect(turn()).toBe(0);
  });

  it('take a millisecond of a turn, one app after the other', () => {
    const { flushTurns, flushed, connections, turn } = loop();
    const [many, few] = [appWith(), appWith()];
    for (const one of [...connections(many, 20), ...connections(few, 2)]) flushTurns.add(one);
    expect(turn()).toBe(10);
    expect(flushed.slice(8).map(({ app }) => app)).toEqual([few, few]);
    expect([turn(), turn()]).toEqual([12, 0]);
  });

  it('are not kept waiting while the loop has time', () => {
    const { flushTurns, connections, turn, pauses } = loop({ busyShare: 0.5 });
    for (let round = 0; round < 2; round++) {
      for (const one of connections(appWith(), 2)) flushTurns.add(one);
      expect(turn()).toBe(2);
    }
    expect(pauses).toEqual([]);
  });

  it('wait in a busy loop for 20 times what the last round took, at most 50 ms', () => {
    const { flushTurns, connections, turn, pauses, pass } = loop({ busyShare: 0.7 });
    const round = (count: number) => {
      for (const one of connections(appWith(), count)) flushTurns.add(one);
      while (turn() > 0);
    };
    round(10);
    pass(5);
    expect(flushTurns.isPausing).toBe(true);
    round(100);
    pass(10);
    round(1);
    pass(50);
    expect(flushTurns.isPausing).toBe(false);
    round(1);
    expect(pauses.map(Math.round)).toEqual([15, 40]);
  });
});
