import { describe, expect, it } from 'bun:test';
import type { RuleName } from '../../src/verify/check/verdict.ts';
import { runs, testSeed } from '../../testing/long-run.ts';
import { playSeeds, type SeedLine } from './play-seeds.ts';
import kept from './seeds.json';

/** A seed that once broke a rule. */
interface MendedSeed {
  readonly world: string;
  readonly seed: number;
  readonly commit: string;
  readonly rule: string;
  /** What was mended. */
  readonly mended: string;
}

/** Seeds that every run plays of each world. */
const SEEDS = 5;
const TIMEOUT_MS = 7_200_000;

export interface WorldTests {
  /** Seeds that every run plays, if not as many as usual. */
  readonly usual?: number;
  /** Seeds of a long run. */
  readonly long: number;
  /** Most seeds have more deliveries than this, and a fault: a seed in which nothing happens would keep every promise. */
  readonly deliveries: number;
  /** The faults that can be planted, with the rule that must find each. */
  readonly sabotages: Readonly<Record<string, RuleName>>;
}

/** What is expected of a world. It is played in processes of its own, because it replaces globals. */
export function worldTests(world: string, tests: WorldTests): void {
  const { usual = SEEDS, long, deliveries, sabotages } = tests;
  const mended = (kept as readonly MendedSeed[]).filter((one) => one.world === world);
  const planted = Object.keys(sabotages);
  const first = testSeed();
  const count = runs(usual, long);
  const isUsual = (seed: number) => seed >= first && seed < first + count;
  const more = [first, ...new Set(mended.map(({ seed }) => seed).filter((seed) => !isUsual(seed)))];
  let played: Promise<readonly SeedLine[]> | undefined;
  const play = async () => {
    const lines: SeedLine[] = [];
    const order = { world, first, count, more, sabotages: planted, afterwards: true };
    await playSeeds(order, (line) => lines.push(line));
    return lines;
  };
  /** What has come of the seeds as they are, or of those with planted faults. */
  const linesOf = async (isPlanted: boolean) => {
    played ??= play();
    return (await played).filter(({ sabotage }) => (sabotage !== undefined) === isPlanted);
  };

  describe(`the world ${world}`, () => {
    it(
      'keeps every promise, also with seeds that once broke one, and a seed gives the same history in another process',
      async () => {
        const lines = await linesOf(false);
        expect(lines).toHaveLength(count + more.length);
        const broken = lines.filter((line) => line.broken.length > 0);
        expect(broken.map(({ seed, broken: [one] }) => ({ seed, ...one }))).toEqual([]);
        const ofFirst = lines.filter(({ seed }) => seed === first);
        expect(ofFirst.length).toBeGreaterThan(1);
        expect(new Set(ofFirst.map(({ hash }) => hash)).size).toBe(1);
        const isLively = (line: SeedLine) => line.deliveries > deliveries && line.faults > 0;
        expect(lines.filter(isLively).length).toBeGreaterThan(count / 2);
      },
      TIMEOUT_MS,
    );

    if (planted.length === 0) return;

    it(
      'shows each fault that is planted',
      async () => {
        const found: Record<string, string> = {};
        for (const { sabotage = '', expected = '', broken } of await linesOf(true)) {
          if (broken.some(({ rule }) => rule === expected)) found[sabotage] = expected;
        }
        expect(found).toEqual(sabotages);
      },
      TIMEOUT_MS,
    );
  });
}
