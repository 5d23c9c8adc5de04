import { closeSync, openSync, writeSync } from 'node:fs';
import type { ProcessOrder, SeedLine } from './play-seeds.ts';
import type { SeedResult, World } from './worlds/world.ts';
import { worlds } from './worlds/worlds.ts';

/** A process in which a world plays seeds, one after the other. It prints a line of JSON for each. */

const order = JSON.parse(process.argv[2] ?? '') as ProcessOrder;
const world = await worlds[order.world]?.();
if (world === undefined) throw new Error(`There is no world ${order.world}`);
const file = order.history === undefined ? undefined : openSync(order.history, 'w', 0o600);

for (const seed of order.seeds) await play(world, seed);
for (const sabotage of order.sabotages) {
  const expected = world.sabotages[sabotage];
  // A world that does not have it plays nothing. One find is enough.
  let isFound = expected === undefined;
  for (const seed of order.sabotagedSeeds) {
    if (isFound) break;
    const { broken } = await play(world, seed, sabotage);
    isFound = broken.some(({ rule }) => rule === expected);
  }
}
if (file !== undefined) closeSync(file);
process.exit(0);

async function play(of: World, seed: number, sabotage?: string): Promise<SeedResult> {
  const hasher = new Bun.CryptoHasher('sha256');
  const result = await of.run({
    seed,
    sabotage,
    trace: order.isTraced ? (line) => writeAll(2, line) : undefined,
    history(line) {
      hasher.update(line);
      hasher.update('\n');
      if (file !== undefined) writeAll(file, line);
    },
  });
  const planted =
    sabotage === undefined ? {} : { sabotage, expected: of.sabotages[sabotage] ?? '' };
  const line: SeedLine = { seed, ...result, hash: hasher.digest('hex'), ...planted };
  writeAll(1, JSON.stringify(line));
  return result;
}

function writeAll(to: number, line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let from = 0; from < bytes.length; ) from += writeSync(to, bytes, from);
}
