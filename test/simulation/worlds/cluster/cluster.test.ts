import { describe, expect, it } from 'bun:test';
import { isLong, runs, testSeed } from '../../../../testing/long-run.ts';
import { playSeeds, type SeedLine, type SeedsOrder } from '../../play-seeds.ts';
import kept from '../../seeds.json';

/** A seed takes ten times as long as one of the world `threads`: each server has an interpreter of Lua to wait for. */
const SEEDS = runs(6, 300);
const WORLD = 'cluster';
const TIMEOUT_MS = 7_200_000;

async function play(order: Omit<SeedsOrder, 'world'>): Promise<readonly SeedLine[]> {
  const lines: SeedLine[] = [];
  await playSeeds({ world: WORLD, ...order }, (line) => void lines.push(line));
  return lines;
}

describe('two or three servers over Redis, clients in trouble, and the checker', () => {
  it(
    'keeps every promise, and the same seed gives the same history in another process',
    async () => {
      const first = testSeed();
      const again = kept.filter(({ world }) => world === WORLD).map(({ seed }) => seed);
      const [lines, [alone], ...others] = await Promise.all([
        play({ first, count: SEEDS }),
        play({ first, count: 1 }),
        ...again.map((seed) => play({ first: seed, count: 1 })),
      ]);
      const all = [...lines, ...others.flat()];
      expect(all).toHaveLength(SEEDS + again.length);
      const broken = all.filter((line) => line.broken.length > 0);
      expect(broken.map(({ seed, broken: [one] }) => ({ seed, ...one }))).toEqual([]);
      expect(alone?.hash).toBeString();
      expect(alone?.hash).toBe(lines.find(({ seed }) => seed === first)?.hash);
      // A seed in which nothing happens would keep every promise.
      expect(lines.filter(({ deliveries }) => deliveries > 50).length).toBeGreaterThan(SEEDS / 2);
      expect(lines.filter(({ faults }) => faults > 0).length).toBeGreaterThan(SEEDS / 2);
    },
    TIMEOUT_MS,
  );

  it(
    'shows faults that are planted',
    async () => {
      // The world `threads` shows the others in each run.
      const ofEachRun = { 'lose-webhook': 'webhooks' };
      const sabotages = isLong
        ? {
            'lose-event': 'arrives',
            'double-event': 'once',
            'swap-events': 'order',
            'ghost-member': 'present',
            'silent-gap': 'resumes',
            'late-answer': 'arrives',
            ...ofEachRun,
          }
        : ofEachRun;
      const found: Record<string, string> = {};
      for (const line of await play({ first: 1, count: 25, sabotages: Object.keys(sabotages) })) {
        const { sabotage = '', expected = '', broken } = line;
        if (broken.some(({ rule }) => rule === expected)) found[sabotage] = expected;
      }
      expect(found).toEqual(sabotages);
    },
    TIMEOUT_MS,
  );
});
