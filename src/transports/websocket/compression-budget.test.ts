import { beforeEach, describe, expect, it } from 'bun:test';
import { CompressionBudget } from './compression-budget.ts';

/** One receiver of a frame of this size costs exactly 0.1 ms. */
const BYTES = 85_000 / 7;

let nowMs: number;
let counted: Record<string, number>;
/** What runs at the end of the turn. */
let afterTurn: (() => void)[];
let budget: CompressionBudget;
beforeEach(() => {
  nowMs = 1_000;
  counted = { compressed: 0, 'over-budget': 0 };
  const meter = {
    count: (_: string, by: number, result: string) => {
      counted[result] = (counted[result] ?? 0) + by;
    },
  };
  afterTurn = [];
  budget = new CompressionBudget({
    meter,
    now: () => nowMs,
    afterTurn: (run) => void afterTurn.push(run),
  });
});

/** Ends a turn of the loop that took so long. */
function endTurn(ms: number): void {
  nowMs += ms;
  for (const run of afterTurn.splice(0)) run();
}

/** How many of many frames, each for ten receivers, are compressed. */
function compressed(frames: number): number {
  return Array.from({ length: frames }, () => budget.take(10, BYTES)).filter(Boolean).length;
}

describe('the budget for compression', () => {
  it('allows 4 ms at once', () => {
    expect(compressed(10)).toBe(4);
  });

  it('allows 250 ms of each second, in whichever pieces it comes', () => {
    compressed(1_000);
    let frames = 0;
    for (let ms = 0; ms < 10_000; ms += 10) {
      nowMs += 10;
      frames += compressed(100);
    }
    expect(frames).toBeWithin(2_490, 2_510);
  });

  it('does not save up more than 4 ms', () => {
    compressed(1_000);
    nowMs += 60_000;
    expect(compressed(1_000)).toBe(4);
  });

  it('never compresses a frame that would take longer, and leaves smaller ones their budget', () => {
    expect(budget.take(41, BYTES)).toBe(false);
    expect(budget.take(1, 1_000_000)).toBe(false);
    expect(compressed(10)).toBe(4);
  });

  it('costs for each receiver, however small the frame is', () => {
    expect(budget.take(200, 100)).toBe(true);
    expect(budget.take(200, 100)).toBe(false);
  });

  it('counts the time that a turn took, if that is more than was estimated', () => {
    // As estimated, it would take 1 ms of these 5.
    let frames = 0;
    for (let turn = 0; turn < 10_000; turn++) {
      frames += compressed(1);
      endTurn(5);
    }
    expect(frames).toBeWithin(2_490, 2_510);
  });

  it('counts a turn once, and nothing more if it took less than was estimated', () => {
    expect(compressed(3)).toBe(3);
    expect(afterTurn).toHaveLength(1);
    endTurn(2);
    expect(compressed(10)).toBe(1);
  });

  it('counts five times the estimate at most: a turn may take long for other reasons', () => {
    // It earns 10 ms, and counts 5.
    for (let turn = 0; turn < 100; turn++) {
      expect(compressed(1)).toBe(1);
      endTurn(40);
    }
  });

  it('counts deliveries', () => {
    budget.take(30, BYTES);
    budget.take(20, BYTES);
    budget.take(5, BYTES);
    budget.take(0, BYTES);
    expect(counted).toEqual({ compressed: 35, 'over-budget': 20 });
  });

  it('grants nothing more to a clock that is set back', () => {
    compressed(1_000);
    nowMs -= 10_000;
    expect(compressed(10)).toBe(0);
  });
});
