import { describe, expect, it } from 'bun:test';
import { Merger } from './merger.ts';
import type { AppTick, TapRecord } from './records.ts';

const api = (trace: string, receivers = 0): TapRecord => ({
  kind: 'api',
  channel: 'news',
  atMs: 0,
  trace,
  receivers,
});

/** A merger whose records wait this long. */
function mergerOf(settleMs: number) {
  const merger = new Merger();
  return {
    merger,
    add: (node: string, seen: AppTick, nowMs: number) =>
      merger.add({ node, tick: seen, nowMs, dueMs: nowMs + settleMs }),
  };
}

const tick = (more: Partial<AppTick>): AppTick => ({
  appId: 'app',
  loop: 'loop',
  records: [],
  heard: [],
  skipped: {},
  ...more,
});

describe('what several loops have seen', () => {
  it('is one record of an event, with the receivers of all loops', () => {
    const { merger, add } = mergerOf(100);
    add('a', tick({ heard: [['t1', 2]] }), 0);
    add('b', tick({ records: [api('t1', 1)] }), 10);
    add('a', tick({ heard: [['t1', 3]] }), 50);
    expect(merger.take(100).events).toEqual([]);
    expect(merger.take(110).events).toEqual([
      { n: 1, node: 'b', kind: 'api', channel: 'news', atMs: 0, receivers: 6 },
    ]);
  });

  it('is completed by an update when a loop is late', () => {
    const { merger, add } = mergerOf(0);
    add('a', tick({ records: [api('t1', 1), api('t2')] }), 0);
    const { events } = merger.take(0);
    add('b', tick({ heard: [['t2', 4]] }), 10);
    add('c', tick({ heard: [['t2', 1]] }), 10);
    expect(merger.take(20).updates).toEqual([{ n: 2, receivers: 5 }]);
    add('c', tick({ heard: [['t2', 1]] }), 30);
    expect(merger.take(40).updates).toEqual([{ n: 2, receivers: 6 }]);
    expect(events.map(({ receivers }) => receivers)).toEqual([1, 0]);
  });

  it('is forgotten after a while', () => {
    const { merger, add } = mergerOf(0);
    for (let n = 0; n < 5000; n++) add('a', tick({ heard: [[`t${n}`, 1]] }), 0);
    add('a', tick({ records: [api('x')] }), 0);
    expect(Reflect.get(merger, 'early')).toHaveProperty('size', 2000);
    merger.take(60_000);
    for (const kept of ['early', 'traced']) {
      expect(Reflect.get(merger, kept)).toHaveProperty('size', 0);
    }
  });

  it('is added up in counts, and left out once', () => {
    const { merger, add } = mergerOf(0);
    const counts = (events: number, name: string) => ({
      kinds: { api: events },
      channels: [{ name, events }],
      names: [],
    });
    add('a', tick({ counts: counts(5, 'x'), skipped: { api: 2 } }), 0);
    add('b', tick({ counts: counts(7, 'y'), skipped: { api: 1, error: 1 } }), 0);
    add('b', tick({ counts: counts(1, 'x') }), 0);
    expect(merger.take(0).skipped).toEqual({ api: 3, error: 1 });
    expect(merger.take(0).skipped).toEqual({});
    expect(merger.takeCounts()).toEqual({
      kinds: { api: 13 },
      channels: [
        { name: 'y', events: 7 },
        { name: 'x', events: 6 },
      ],
      names: [],
    });
  });

  it('is one record of a subscription count that each loop of a cluster has sent', () => {
    const { merger, add } = mergerOf(0);
    const count = (loop: string, count: number, atMs: number) =>
      add(loop, tick({ loop, records: [{ kind: 'count', channel: 'x', count, atMs }] }), 40);
    for (const [loop, lateMs] of [
      ['b', 10],
      ['a', 0],
    ] as const) {
      count(loop, 3, 10 + lateMs);
      count(loop, 4, 20 + lateMs);
      count(loop, 3, 30 + lateMs);
    }
    expect(merger.take(40).events.map((one) => one.count)).toEqual([3, 4, 3]);
  });
});
