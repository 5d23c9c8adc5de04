import { describe, expect, it } from 'bun:test';
import { SharedCounts, shareCounts } from './shared-counts.ts';

describe('shared counts', () => {
  it('are the same for all loops, by name', () => {
    const memory = shareCounts();
    const [a, b] = [new SharedCounts(memory), new SharedCounts(memory)];
    a.add('ann', 2);
    b.add('ann', 3);
    b.add('bob', 1);
    a.add('ann', -1);
    for (const counts of [a, b, new SharedCounts(memory)]) {
      expect([counts.of('ann'), counts.of('bob'), counts.of('eve')]).toEqual([4, 1, 0]);
    }
  });

  it('keep thousands of names apart, whichever loop counts a name first', () => {
    const memory = shareCounts();
    const loops = [new SharedCounts(memory), new SharedCounts(memory), new SharedCounts(memory)];
    for (let n = 0; n < 20_000; n++) loops[n % 3]?.add(`app-${n}`, n);
    for (let n = 0; n < 20_000; n++) expect(loops[(n + 1) % 3]?.of(`app-${n}`)).toBe(n);
  });

  it('return undefined for a name that finds no free place', () => {
    const counts = new SharedCounts(shareCounts());
    let without = 0;
    for (let n = 0; n < 70_000; n++) {
      counts.add(`app-${n}`, 1);
      if (counts.of(`app-${n}`) === undefined) without++;
      else expect(counts.of(`app-${n}`)).toBe(1);
    }
    expect(without).toBeGreaterThan(4000);
  });
});
