import { describe, expect, it } from 'bun:test';
import { Tally } from './tally.ts';

const schedule = {
  firstSequence: 10,
  events: 3,
  firstDueMs: 1000,
  intervalMs: 10,
  warmupEvents: 1,
};

describe('a tally', () => {
  it('counts latency from when a publish was due, and not that of the warm-up', () => {
    const tally = new Tally(schedule, 25);
    tally.arrived(10, 1500);
    tally.arrived(11, 1015);
    tally.arrived(12, 1046);

    expect(tally.latency.count).toBe(2);
    expect(tally.latency.maxMs).toBe(26);
    expect(tally.overLimit).toBe(1);
    expect(tally.delivered).toBe(3);
  });

  it('counts what is missing and what came twice, even if they cancel out', () => {
    const tally = new Tally(schedule, 25);
    for (const sequence of [10, 10, 11, 11, 11, 12]) tally.arrived(sequence, 1100);

    expect(tally.faults(3, 2)).toEqual({ missing: 1, duplicated: 1 });
  });

  it('leaves out what an earlier step published', () => {
    const tally = new Tally(schedule, 25);
    tally.arrived(9, 1100);
    expect(tally.delivered).toBe(0);
  });
});
