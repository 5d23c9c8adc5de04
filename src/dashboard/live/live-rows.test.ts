import { describe, expect, it } from 'bun:test';
import { KEPT, LiveRows } from './live-rows.ts';
import { groupsIn, type LiveFilter, type LiveRecord } from './records.ts';

const ALL: LiveFilter = {
  groups: groupsIn(undefined),
  channel: '',
  socket: '',
  user: '',
  text: '',
};

function events(first: number, number: number, over: Partial<LiveRecord> = {}): LiveRecord[] {
  return Array.from({ length: number }, (_, index) => ({
    n: first + index,
    atMs: 1000 + first + index,
    kind: 'api',
    ...over,
  }));
}

function numbers(rows: LiveRows): (number | string | undefined)[] {
  return Array.from({ length: rows.length }, (_, index) => {
    const row = rows.at(index);
    return row !== undefined && 'gap' in row ? row.gap : row?.record.n;
  });
}

describe('the rows of the live list', () => {
  it('begin with the newest', () => {
    const rows = new LiveRows(ALL);
    rows.add(events(1, 3));
    expect(numbers(rows)).toEqual([3, 2, 1]);
  });

  it('are bounded, and the oldest leave first', () => {
    const rows = new LiveRows(ALL);
    for (let first = 1; first < 3 * KEPT; first += 100) rows.add(events(first, 100));
    expect(rows.length).toBeLessThanOrEqual(KEPT * 1.1);
    expect(rows.length).toBeGreaterThanOrEqual(KEPT);
    const first = rows.at(0);
    expect(first !== undefined && 'record' in first && first.record.n).toBe(3 * KEPT);
  });

  it('do not move while they are held, and count what came', () => {
    const rows = new LiveRows(ALL);
    rows.add(events(1, 2));
    rows.hold(true);
    rows.add(events(3, 5));
    expect(numbers(rows)).toEqual([2, 1]);
    expect(rows.newer).toBe(5);
    rows.hold(false);
    expect(numbers(rows)).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect(rows.newer).toBe(0);
  });

  it('do not move while older ones leave', () => {
    const rows = new LiveRows(ALL);
    rows.add(events(1, 50));
    rows.hold(true);
    for (let first = 51; first < KEPT; first += 100) rows.add(events(first, 100));
    expect(numbers(rows)[0]).toBe(50);
  });

  it('come back when a filter is dropped', () => {
    const rows = new LiveRows(ALL);
    rows.add([...events(1, 1, { channel: 'a' }), ...events(2, 1, { channel: 'b' })]);
    rows.narrow({ ...ALL, channel: 'a' });
    expect(numbers(rows)).toEqual([1]);
    rows.narrow(ALL);
    expect(numbers(rows)).toEqual([2, 1]);
  });

  it('show where something is missing, whatever the filter', () => {
    const rows = new LiveRows({ ...ALL, channel: 'a' });
    rows.add(events(1, 1, { channel: 'a' }));
    rows.addGap('14 s missing');
    rows.add(events(2, 1, { channel: 'a' }));
    expect(numbers(rows)).toEqual([2, '14 s missing', 1]);
  });

  it('are completed by later updates of the same record', () => {
    const rows = new LiveRows(ALL);
    rows.add(events(1, 2, { receivers: 0 }));
    rows.update({ n: 1, near: 'room.7' });
    expect(rows.records().map(({ near }) => near)).toEqual(['room.7', undefined]);
  });
});
