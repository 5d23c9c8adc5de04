import { describe, expect, it } from 'bun:test';
import { BURST_PER_SECOND, PLAN_MS, PLAN_MS_IN_BURST } from '../limits.ts';
import { PlanningPace } from './planning-pace.ts';

const NOW_MS = 1_800_000_000_000;

describe('the pace of planning', () => {
  it('claims at once, and then collects publishes for 5 ms', () => {
    const pace = new PlanningPace();
    pace.accepted(1, NOW_MS);
    expect(pace.waitMs(NOW_MS)).toBe(0);
    pace.began(NOW_MS);
    expect(pace.waitMs(NOW_MS)).toBe(PLAN_MS);
    expect(pace.waitMs(NOW_MS + PLAN_MS)).toBe(0);
  });

  it('claims every 100 ms in a burst', () => {
    const pace = new PlanningPace();
    let nowMs = NOW_MS;
    pace.began(nowMs);
    for (let count = 0; count < 100; count++) {
      nowMs += 5;
      pace.accepted((5 * 6 * BURST_PER_SECOND) / 1000, nowMs);
    }
    expect(pace.waitMs(nowMs)).toBe(0);
    pace.began(nowMs);
    expect(pace.waitMs(nowMs)).toBe(PLAN_MS_IN_BURST);
    pace.accepted(1_000_000, nowMs + PLAN_MS_IN_BURST);
    expect(pace.waitMs(nowMs + PLAN_MS_IN_BURST)).toBe(0);
  });

  it('does not slow down a steady rate below a burst', () => {
    const pace = new PlanningPace();
    for (let nowMs = NOW_MS; nowMs < NOW_MS + 10_000; nowMs += 5) {
      pace.accepted((5 * 0.9 * BURST_PER_SECOND) / 1000, nowMs);
      pace.began(nowMs);
      expect(pace.waitMs(nowMs)).toBe(PLAN_MS);
    }
  });

  it('is normal again soon after a burst', () => {
    const pace = new PlanningPace();
    pace.accepted(1_000_000, NOW_MS);
    pace.began(NOW_MS + 110);
    expect(pace.waitMs(NOW_MS + 110)).toBe(PLAN_MS);
  });

  it('does not wait after the clock was set back', () => {
    const pace = new PlanningPace();
    pace.accepted(1_000_000, NOW_MS);
    pace.began(NOW_MS);
    expect(pace.waitMs(NOW_MS - 3_600_000)).toBe(0);
    pace.began(NOW_MS - 3_600_000);
    expect(pace.waitMs(NOW_MS - 3_600_000)).toBe(PLAN_MS);
  });
});
