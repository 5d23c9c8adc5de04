import { describe, expect, it } from 'bun:test';
import { after, all } from './maybe-promise.ts';

describe('what comes after a value', () => {
  it('happens in the same turn when the value is here', () => {
    expect(after(1, (value) => value + 1)).toBe(2);
    expect(after(undefined, () => 'next')).toBe('next');
  });

  it('waits for a value that will be here, and for what follows from it', async () => {
    const seen: number[] = [];
    const done = after(Promise.resolve(1), (value) => {
      seen.push(value);
      return Promise.resolve(value + 1);
    });

    expect(seen).toEqual([]);
    expect(await done).toBe(2);
  });

  it('does not happen when there is no value', async () => {
    const lost = after(Promise.reject(new Error('lost')), () => 'never');

    expect(async () => await lost).toThrow('lost');
  });
});

describe('all of several values', () => {
  it('are there in the same turn when each of them is', () => {
    expect(all([1, undefined, 2])).toEqual([1, undefined, 2]);
    expect(all([])).toEqual([]);
  });

  it('are waited for when one of them will be there, and keep their order', async () => {
    expect(await all([Promise.resolve(1), 2, Promise.resolve(3)])).toEqual([1, 2, 3]);
  });
});
