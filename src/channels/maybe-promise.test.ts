import { describe, expect, it } from 'bun:test';
import { after, attempt, mapAll, recover, undoIfFailed } from './maybe-promise.ts';

describe('the continuation of a value', () => {
  it('happens in the same turn when the value is here', () => {
    expect(after(1, (value) => value + 1)).toBe(2);
    expect(after(undefined, () => 'next')).toBe('next');
  });

  it('waits for a late value, and for its own late result', async () => {
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

describe('a failure', () => {
  const failing = [
    [
      'thrown',
      () => {
        throw new Error('lost');
      },
    ],
    ['rejected', () => Promise.reject(new Error('lost'))],
  ] as const;

  it.each(failing)('that is %s goes to the recovery', async (_, run) => {
    expect(await recover<string>(run, (error) => `recovered from ${error}`)).toBe(
      'recovered from Error: lost',
    );
  });

  it.each(failing)('that is %s is undone and passed on', async (_, run) => {
    const undone: string[] = [];
    const attempted = attempt<string>(() => undoIfFailed(run, () => undone.push('undone')));
    await expect(attempted).rejects.toThrow('lost');
    expect(undone).toEqual(['undone']);
  });

  it.each(failing)(
    'that is %s for one item does not keep the others from running',
    async (_, run) => {
      const seen: number[] = [];
      const all = mapAll([1, 2, 3], (item) => {
        seen.push(item);
        return item === 2 ? run() : Promise.resolve(item);
      });
      await expect(all).rejects.toThrow('lost');
      expect(seen).toEqual([1, 2, 3]);
    },
  );

  it('that does not happen changes nothing', () => {
    const never = () => {
      throw new Error('There was no failure');
    };
    expect(recover(() => 1, never)).toBe(1);
    expect(undoIfFailed(() => 1, never)).toBe(1);
    expect(attempt(() => 1)).toBe(1);
  });
});

describe('the results for all items', () => {
  const double = (item: number) => 2 * item;

  it('are there in the same turn if each of them is', () => {
    expect(mapAll([1, 2], double)).toEqual([2, 4]);
    expect(mapAll([], double)).toEqual([]);
  });

  it('keep their order if one of them is late', async () => {
    const all = mapAll([1, 2, 3], (item) => (item === 1 ? Promise.resolve(2) : double(item)));
    expect(await all).toEqual([2, 4, 6]);
  });
});
