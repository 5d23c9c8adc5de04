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

const tick = (more: Partial<AppTick>): AppTick => ({
  appId: 'app',
  records: [],
  heard: [],
  skipped: {},
  ...more,
});

describe('what several loops have seen', () => {
  it('is one record of an event, with the receivers of all loops', () => {
    const merger = new Merger(100);
    merger.add('a', tick({ heard: [['t1', 2]] }), 0);
    merger.add('b', tick({ records: [api('t1', 1)] }), 10);
    merger.add('a', tick({ heard: [['t1', 3]] }), 50);
    expect(merger.take(100).events).toEqual([]);
    expect(merger.take(110).events).toEqual([
      { n: 1, node: 'b', kind: 'api', channel: 'news', atMs: 0, receivers: 6 },
    ]);
  });

  it('is completed by an update when a loop is late', () => {
    const merger = new Merger(0);
    merger.add('a', tick({ records: [api('t1', 1), api('t2')] }), 0);
    const { events } = merger.take(0);
    merger.add('b', tick({ heard: [['t2', 4]] }), 10);
    merger.add('c', tick({ heard: [['t2', 1]] }), 10);
    expect(merger.take(20).updates).toEqual([{ n: 2, receivers: 5 }]);
    merger.add('c', tick({ heard: [['t2', 1]] }), 30);
    expect(merger.take(40).updates).toEqual([{ n: 2, receivers: 6 }]);
    expect(events.map(({ receivers }) => receivers)).toEqual([1, 0]);
  });

  it('is forgotten after a while', () => {
    const merger = new Merger(0);
    for (let n = 0; n < 5000; n++) merger.add('a', tick({ heard: [[`t${n}`, 1]] }), 0);
    merger.add('a', tick({ records: [api('x')] }), 0);
    expect(Reflect.get(merger, 'early')).toHaveProperty('size', 2000);
    merger.take(60_000);
    for (const kept of ['early', 'traced']) {
      expect(Reflect.get(merger, kept)).toHaveProperty('size', 0);
    }
  });

  it('is added up in counts, and left out once', () => {
    const merger = new Merger(0);
    const counts = (events: number, name: string) => ({
      kinds: { api: events },
      channels: [{ name, events }],
      names: [],
    });
    merger.add('a', tick({ counts: counts(5, 'x'), skipped: { api: 2 } }), 0);
    merger.add('b', tick({ counts: counts(7, 'y'), skipped: { api: 1, error: 1 } }), 0);
    merger.add('b', tick({ counts: counts(1, 'x') }), 0);
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
    const merger = new Merger(0);
    const count = (n: number) =>
      tick({ records: [{ kind: 'count', channel: 'x', count: n, atMs: 0 }] });
    merger.add('a', count(3), 0);
    merger.add('b', count(3), 10);
    merger.add('b', count(4), 20);
    expect(merger.take(30).events.map((one) => one.count)).toEqual([3, 4]);
  });
});
