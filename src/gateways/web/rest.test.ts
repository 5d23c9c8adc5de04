import { describe, expect, it } from 'bun:test';
import { Rest } from './rest.ts';

function trouble(rest: Rest, times: number, nowMs: number, afterMs?: number): void {
  for (let count = 0; count < times; count++) rest.onTrouble('http-503', afterMs, nowMs);
}

describe('a push service in trouble', () => {
  it('is left alone after 20 failures in a row, for a second', () => {
    const rest = new Rest();
    trouble(rest, 19, 1_000);
    expect(rest.hold(1_000)).toBeUndefined();
    trouble(rest, 1, 1_000);
    expect(rest.hold(1_000)).toEqual({ reason: 'http-503', leftMs: 1_000 });
    expect(rest.hold(1_999)).toEqual({ reason: 'http-503', leftMs: 1 });
    expect(rest.hold(2_000)).toBeUndefined();
  });

  it('is not where it answers in between', () => {
    const rest = new Rest();
    for (let count = 0; count < 5; count++) {
      trouble(rest, 19, 1_000);
      rest.onAnswer();
    }
    expect(rest.hold(1_000)).toBeUndefined();
  });

  it('is left alone twice as long with the next failure, a minute at most', () => {
    const rest = new Rest();
    const lengths: unknown[] = [];
    let nowMs = 1_000;
    trouble(rest, 20, nowMs);
    for (let count = 0; count < 8; count++) {
      const { leftMs } = rest.hold(nowMs) ?? { leftMs: 0 };
      lengths.push(leftMs);
      // What was under way meanwhile adds nothing.
      trouble(rest, 50, nowMs + leftMs - 1);
      nowMs += leftMs;
      trouble(rest, 1, nowMs);
    }
    expect(lengths).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    rest.onAnswer();
    trouble(rest, 20, nowMs + 60_000);
    expect(rest.hold(nowMs + 60_000)?.leftMs).toBe(1_000);
  });

  it('is left alone as long as it asked for, a quarter of an hour at most', () => {
    const [asks, insists] = [new Rest(), new Rest()];
    trouble(asks, 20, 0, 30_000);
    expect(asks.hold(0)?.leftMs).toBe(30_000);
    trouble(insists, 20, 0, 24 * 3_600_000);
    expect(insists.hold(0)?.leftMs).toBe(900_000);
  });

  it('gets a single message then, and the others once it has answered', () => {
    const rest = new Rest();
    trouble(rest, 20, 0);
    expect(rest.hold(1_000)).toBeUndefined();
    expect(rest.hold(1_000)).toEqual({ reason: 'http-503', leftMs: 1_000 });
    rest.onAnswer();
    expect(rest.hold(1_000)).toBeUndefined();
    expect(rest.hold(1_000)).toBeUndefined();
  });

  it('gets another one where nobody heard of the first', () => {
    const rest = new Rest();
    trouble(rest, 20, 0);
    expect(rest.hold(1_000)).toBeUndefined();
    expect(rest.hold(20_999)).toBeDefined();
    expect(rest.hold(21_000)).toBeUndefined();
  });
});
