import { describe, expect, it } from 'bun:test';
import type { RuleName } from '../../src/verify/check/verdict.ts';
import { runs, testSeed } from '../../testing/long-run.ts';
import { playSeeds, type SeedLine, type SeedsOrder } from './play-seeds.ts';
import seeds from './seeds.json';

/** A seed that once broke a rule. */
interface MendedSeed {
  readonly world: string;
  readonly seed: number;
  readonly commit: string;
  readonly rule: string;
  /** What was mended. */
  readonly mended: string;
}

/** A planted fault must show within so many. */
const SABOTAGED_SEEDS = 50;

const TIMEOUT_MS = 3_600_000;

async function play(
  order: SeedsOrder,
  isOver?: (lines: readonly SeedLine[]) => boolean,
): Promise<readonly SeedLine[]> {
  const lines: SeedLine[] = [];
  await playSeeds(order, (line) => lines.push(line), isOver && (() => isOver(lines)));
  return lines;
}

function brokenOf(world: string, lines: readonly SeedLine[]): readonly unknown[] {
  return lines
    .filter(({ broken }) => broken.length > 0)
    .map(({ seed, broken }) => ({ world, seed, broken }));
}

export interface WorldTests {
  /** Seeds that every run plays. */
  readonly usual: number;
  /** Seeds of a long run. */
  readonly long: number;
  /** The faults that can be planted, with the rule that must find each. */
  readonly sabotages: Readonly<Record<string, RuleName>>;
}

/** What is expected of a world. It is played in processes of its own, because it replaces globals. */
export function worldTests(name: string, { usual, long, sabotages }: WorldTests): void {
  const found = (seeds as readonly MendedSeed[]).filter(({ world }) => world === name);

  describe(`the world ${name}`, () => {
    it(
      'keeps all promises, and leads to the same history again in another process',
      async () => {
        const order = { world: name, first: testSeed(), count: runs(usual, long) };
        const lines = await play(order);
        expect(brokenOf(name, lines)).toEqual([]);
        const [again] = await play({ ...order, count: 1 });
        expect(again?.hash).toBe(lines.find(({ seed }) => seed === order.first)?.hash ?? '');
      },
      TIMEOUT_MS,
    );

    it.each(found)('keeps them with seed $seed, which once broke $rule', async ({ seed }) => {
      expect(brokenOf(name, await play({ world: name, first: seed, count: 1 }))).toEqual([]);
    });

    it.each(Object.entries(sabotages))(
      'shows a planted fault: %s breaks %s',
      async (sabotage, rule) => {
        const isFound = (lines: readonly SeedLine[]) =>
          lines.some(({ broken }) => broken.some((one) => one.rule === rule));
        const order: SeedsOrder = {
          world: name,
          first: 1,
          count: SABOTAGED_SEEDS,
          sabotages: [sabotage],
        };
        expect(isFound(await play(order, isFound))).toBe(true);
      },
      TIMEOUT_MS,
    );
  });
}
