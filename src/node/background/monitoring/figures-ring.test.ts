import { describe, expect, it } from 'bun:test';
import { FiguresRing, STEP_MS } from './figures-ring.ts';

const DAY_MS = 86_400_000;
const START_MS = 1_800_000_000_000;

describe('the figures of a day', () => {
  it('begin with the first that was measured, and have a gap where nothing was', () => {
    const ring = new FiguresRing();
    ring.keep(START_MS + 1, { connections: 3, loopLateMs: 1.23456 });
    ring.keep(START_MS + 2 * STEP_MS, { connections: 5 });
    const { fromMs, nowMs, stepMs, series } = ring.since(0, START_MS + 3 * STEP_MS - 1);
    expect({ fromMs, nowMs, stepMs }).toEqual({
      fromMs: START_MS,
      nowMs: START_MS + 3 * STEP_MS - 1,
      stepMs: 10_000,
    });
    expect(series.connections).toEqual([3, null, 5]);
    expect(series.loopLateMs).toEqual([1.23, null, null]);
    expect(series.memoryBytes).toEqual([null, null, null]);
  });

  it('hold the last that was measured in a step', () => {
    const ring = new FiguresRing();
    for (const connections of [1, 2]) ring.keep(START_MS + connections, { connections });
    expect(ring.since(0, START_MS + 5).series.connections).toEqual([2]);
  });

  it('leave out what was before a time, and more than a day ago', () => {
    const ring = new FiguresRing();
    for (let step = 0; step <= DAY_MS / STEP_MS; step++) {
      ring.keep(START_MS + step * STEP_MS, { connections: step });
    }
    const nowMs = START_MS + DAY_MS;
    const all = ring.since(0, nowMs);
    expect(all.fromMs).toBe(START_MS + STEP_MS);
    expect(all.series.connections).toHaveLength(8_640);
    expect(all.series.connections.at(-1)).toBe(8_640);
    expect(ring.since(nowMs - 2 * STEP_MS + 1, nowMs).series.connections).toEqual([8_639, 8_640]);
    expect(ring.since(nowMs + DAY_MS, nowMs).series.connections).toEqual([]);
  });

  it('show nothing of an earlier day, also if the clock is set back and forward', () => {
    const ring = new FiguresRing();
    ring.keep(START_MS, { connections: 1 });
    expect(ring.since(0, START_MS + DAY_MS + STEP_MS).series.connections).toEqual([]);
    ring.keep(START_MS - DAY_MS, { connections: 2 });
    expect(ring.since(0, START_MS - DAY_MS).series.connections).toEqual([2]);
    expect(ring.since(0, START_MS).series.connections).toEqual([]);
  });
});
