import { beforeEach, describe, expect, it } from 'bun:test';
import { WaitLimit } from './wait-limit.ts';

let limit: WaitLimit;

beforeEach(() => {
  limit = new WaitLimit();
});

function reach(times: number): void {
  for (let time = 0; time < times; time++) limit.reached();
}

describe('the longest wait', () => {
  it('is 8 ms, and stays so if it is reached four times in a row', () => {
    expect(limit.ms).toBe(8);
    reach(4);
    limit.notReached();
    reach(4);
    expect(limit.ms).toBe(8);
  });

  it('grows by a quarter each further time, up to 50 ms', () => {
    reach(5);
    expect(limit.ms).toBe(10);
    reach(1);
    expect(limit.ms).toBe(12.5);
    reach(20);
    expect(limit.ms).toBe(50);
  });

  it('shrinks by as much each time it is not reached, down to 8 ms', () => {
    reach(6);
    limit.notReached();
    expect(limit.ms).toBe(10);
    reach(4);
    expect(limit.ms).toBe(10);
    reach(1);
    expect(limit.ms).toBe(12.5);
    for (let time = 0; time < 20; time++) limit.notReached();
    expect(limit.ms).toBe(8);
  });
});
