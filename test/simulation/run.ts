import { parseArgs } from 'node:util';
import { playSeeds, type SeedLine, type SeedsOrder } from './play-seeds.ts';
import { worlds } from './worlds/worlds.ts';

/**
 * Plays seeds of the simulated worlds, and says which promises they broke: `npm run simulate`. Ends with exit code 1 if one was broken,
 * also by a fault that was planted with `--sabotage`.
 */

const SEEDS = 50;
const PRINT_MS = 10_000;

const { values } = parseArgs({
  options: {
    world: { type: 'string' },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    sabotage: { type: 'string' },
    trace: { type: 'boolean', default: false },
    history: { type: 'string' },
  },
});

const { sabotage } = values;
const chosen = values.world === undefined ? Object.keys(worlds) : [values.world];
for (const name of chosen) if (worlds[name] === undefined) failed(`There is no world ${name}`);
const isOne = values.seed !== undefined;
if ((values.trace || values.history !== undefined) && !(isOne && chosen.length === 1)) {
  failed('--trace and --history need --world and --seed');
}
const minutes = numberOf('minutes', values.minutes);
if ([values.seed, values.seeds, values.minutes].filter((one) => one !== undefined).length > 1) {
  failed('Only one of --seed, --seeds and --minutes can be given');
}

const sums = { seeds: 0, virtualMs: 0, deliveries: 0, faults: 0, broken: 0 };
let printedAtMs = performance.now();

for (const name of chosen) {
  const untilMs =
    minutes === undefined
      ? Number.POSITIVE_INFINITY
      : performance.now() + (minutes * 60_000) / chosen.length;
  let isFound = false;
  await playSeeds(
    orderOf(name),
    (line) => {
      add(name, line);
      isFound ||= sabotage !== undefined && line.broken.length > 0;
    },
    () => isFound || performance.now() > untilMs,
  );
}
console.log(sumsText());
process.exit(sums.broken === 0 ? 0 : 1);

function orderOf(world: string): SeedsOrder {
  const seeds =
    values.seed !== undefined
      ? { first: numberOf('seed', values.seed) ?? 0, count: 1 }
      : minutes !== undefined
        ? { first: Math.floor(Math.random() * 2 ** 31), count: Number.MAX_SAFE_INTEGER }
        : { first: 1, count: numberOf('seeds', values.seeds) ?? SEEDS };
  return { world, ...seeds, sabotage, isTraced: values.trace, history: values.history };
}

function add(world: string, { seed, virtualMs, deliveries, faults, broken }: SeedLine): void {
  sums.seeds++;
  sums.virtualMs += virtualMs;
  sums.deliveries += deliveries;
  sums.faults += faults;
  if (broken.length > 0) {
    sums.broken++;
    for (const { rule, text } of broken.slice(0, 10)) console.log(`broken  ${rule}  ${text}`);
    const planted = sabotage === undefined ? '' : ` --sabotage ${sabotage}`;
    console.log(`npm run simulate -- --world ${world} --seed ${seed}${planted}`);
  }
  if (performance.now() - printedAtMs < PRINT_MS) return;
  printedAtMs = performance.now();
  console.log(sumsText());
}

function sumsText(): string {
  const count = (value: number) => value.toLocaleString('en');
  const hours = (sums.virtualMs / 3_600_000).toFixed(1);
  return `${count(sums.seeds)} seeds, ${hours} virtual hours, ${count(sums.deliveries)} deliveries, ${count(sums.faults)} faults: ${sums.broken} broken`;
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) failed(`--${option} must be a number above 0`);
  return value;
}

function failed(why: string): never {
  console.error(why);
  process.exit(2);
}
