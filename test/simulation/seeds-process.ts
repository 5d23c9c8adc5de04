import { closeSync, openSync, writeSync } from 'node:fs';
import type { SeedLine, SeedsOrder } from './play-seeds.ts';
import { worlds } from './worlds/worlds.ts';

/** A process in which a world plays seeds, one after the other. It prints a line of JSON for each. */

const order = JSON.parse(process.argv[2] ?? '') as SeedsOrder;
const world = await worlds[order.world]?.();
if (world === undefined) throw new Error(`There is no world ${order.world}`);
const file = order.history === undefined ? undefined : openSync(order.history, 'w', 0o600);

for (let seed = order.first; seed < order.first + order.count; seed++) {
  const hasher = new Bun.CryptoHasher('sha256');
  const result = await world.run({
    seed,
    sabotage: order.sabotage,
    trace: order.isTraced ? (line) => writeAll(2, line) : undefined,
    history(line) {
      hasher.update(line);
      hasher.update('\n');
      if (file !== undefined) writeAll(file, line);
    },
  });
  writeAll(1, JSON.stringify({ seed, ...result, hash: hasher.digest('hex') } satisfies SeedLine));
}
if (file !== undefined) closeSync(file);
process.exit(0);

function writeAll(to: number, line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let from = 0; from < bytes.length; ) from += writeSync(to, bytes, from);
}
