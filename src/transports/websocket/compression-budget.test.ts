import { beforeEach, describe, expect, it } from 'bun:test';
import { CompressionBudget } from './compression-budget.ts';

/** One receiver of a frame of this size costs exactly 0.1 ms. */
const BYTES = 85_000 / 7;

let nowMs: number;
let counted: Record<string, number>;
let budget: CompressionBudget;
beforeEach(() => {
  nowMs = 1_000;
  counted = { compressed: 0, 'over-budget': 0 };
  const meter = {
    count: (_: string, by: number, result: string) => {
      counted[result] = (counted[result] ?? 0) + by;
    },
  };
  budget = new CompressionBudget(meter, () => nowMs);
});

/** How many of many frames, each for ten receivers, are compressed. */
function compressed(frames: number): number {
  return Array.from({ length: frames }, () => budget.take(10, BYTES)).filter(Boolean).length;
}

describe('the budget for compression', () => {
  it('allows 50 ms at once', () => {
    expect(compressed(60)).toBeWithin(49, 51);
  });

  it('allows 250 ms of each second, in whichever pieces it comes', () => {
    compressed(1_000);
    let frames = 0;
    for (let ms = 0; ms < 10_000; ms += 20) {
      nowMs += 20;
      frames += compressed(100);
    }
    expect(frames).toBeWithin(2_490, 2_510);
  });

  it('does not save up more than 50 ms', () => {
    compressed(1_000);
    nowMs += 60_000;
    expect(compressed(1_000)).toBeWithin(49, 51);
  });

  it('never compresses a frame that would take longer, and leaves smaller ones their budget', () => {
    expect(budget.take(600, BYTES)).toBe(false);
    expect(budget.take(1, 10_000_000)).toBe(false);
    expect(compressed(60)).toBeWithin(49, 51);
  });

  it('costs for each receiver, however small the frame is', () => {
    expect(budget.take(3_000, 100)).toBe(true);
    expect(budget.take(3_000, 100)).toBe(false);
  });

  it('counts deliveries', () => {
    budget.take(400, BYTES);
    budget.take(200, BYTES);
    budget.take(50, BYTES);
    budget.take(0, BYTES);
    expect(counted).toEqual({ compressed: 450, 'over-budget': 200 });
  });

  it('grants nothing more to a clock that is set back', () => {
    compressed(1_000);
    nowMs -= 10_000;
    expect(compressed(10)).toBe(0);
  });
});
