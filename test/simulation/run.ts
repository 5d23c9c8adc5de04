import { parseArgs } from 'node:util';
import { Evidence } from '../../testing/evidence/evidence.ts';
import type { EvidenceResult } from '../../testing/evidence/rows.ts';
import { playSeeds, type SeedLine, type SeedsOrder } from './play-seeds.ts';
import { worlds } from './worlds/worlds.ts';

/**
 * Plays seeds of the simulated worlds, and says which promises they broke: `npm run simulate`. Ends with exit code 1 if one was broken,
 * also by a fault that was planted with `--sabotage`. `--record` keeps what came of it for `docs/use/evidence.md`.
 */

const SEEDS = 50;
const PRINT_MS = 10_000;
/** Of one seed, this many witnesses are printed. */
const WITNESSES = 10;

const { values } = parseArgs({
  options: {
    world: { type: 'string' },
    seeds: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    sabotage: { type: 'string' },
    trace: { type: 'boolean', default: false },
    history: { type: 'string' },
    record: { type: 'boolean', default: false },
  },
});

const { sabotage } = values;
const chosen = values.world === undefined ? Object.keys(worlds) : [values.world];
for (const name of chosen) if (worlds[name] === undefined) failed(`There is no world ${name}`);
if ((values.trace || values.history !== undefined) && !(values.seed && chosen.length === 1)) {
  failed('--trace and --history need --world and --seed');
}
if ([values.seed, values.seeds, values.minutes].filter((one) => one !== undefined).length > 1) {
  failed('Only one of --seed, --seeds and --minutes can be given');
}
const minutes = numberOf('minutes', values.minutes);
const evidence = values.record ? Evidence.open() : undefined;

/** What came of the seeds so far. */
class Sums {
  seeds = 0;
  virtualMs = 0;
  deliveries = 0;
  faults = 0;
  broken = 0;
  /** The seeds that were played when the expected rule first found what was planted. */
  foundAfter: number | undefined;

  add({ virtualMs, deliveries, faults, broken, expected }: SeedLine): void {
    this.seeds++;
    this.virtualMs += virtualMs;
    this.deliveries += deliveries;
    this.faults += faults;
    if (broken.length > 0) this.broken++;
    if (broken.some(({ rule }) => rule === expected)) this.foundAfter ??= this.seeds;
  }

  get text(): string {
    const count = (value: number) => value.toLocaleString('en');
    const hours = (this.virtualMs / 3_600_000).toFixed(1);
    return `${count(this.seeds)} seeds, ${hours} virtual hours, ${count(this.deliveries)} deliveries, ${count(this.faults)} faults: ${this.broken} broken`;
  }
}

const all = new Sums();
let printedAtMs = performance.now();

for (const world of chosen) {
  const sums = new Sums();
  const order = orderOf(world);
  const untilMs =
    minutes === undefined
      ? Number.POSITIVE_INFINITY
      : performance.now() + (minutes * 60_000) / chosen.length;
  await playSeeds(
    order,
    (line) => {
      sums.add(line);
      all.add(line);
      report(world, line);
    },
    // One find is enough.
    () => sums.foundAfter !== undefined || performance.now() > untilMs,
  );
  if (sums.seeds > 0) evidence?.record(rowOf(world, order, sums));
}
if (sabotage !== undefined && all.seeds === 0) failed(`No world has the fault ${sabotage}`);
console.log(all.text);
process.exit(all.broken === 0 ? 0 : 1);

function orderOf(world: string): SeedsOrder {
  const seeds =
    values.seed !== undefined
      ? { first: numberOf('seed', values.seed) ?? 0, count: 1 }
      : minutes !== undefined
        ? { first: Math.floor(Math.random() * 2 ** 31), count: Number.MAX_SAFE_INTEGER }
        : { first: 1, count: numberOf('seeds', values.seeds) ?? SEEDS };
  const sabotages = sabotage === undefined ? undefined : [sabotage];
  return { world, ...seeds, sabotages, isTraced: values.trace, history: values.history };
}

function report(world: string, { seed, broken }: SeedLine): void {
  for (const { rule, text } of broken.slice(0, WITNESSES)) console.log(`broken  ${rule}  ${text}`);
  if (broken.length > 0) console.log(commandOf(world, `--seed ${seed}`));
  if (performance.now() - printedAtMs < PRINT_MS) return;
  printedAtMs = performance.now();
  console.log(all.text);
}

function commandOf(world: string, seeds: string): string {
  const planted = sabotage === undefined ? '' : ` --sabotage ${sabotage}`;
  return `npm run simulate -- --world ${world} ${seeds}${planted}`;
}

function rowOf(world: string, { first }: SeedsOrder, sums: Sums): EvidenceResult {
  const { seeds, virtualMs, deliveries, faults, broken, foundAfter } = sums;
  if (sabotage !== undefined) {
    return {
      section: 'sabotage',
      name: `${world}: ${sabotage}`,
      command: commandOf(world, `--seeds ${SEEDS}`),
      result: foundAfter === undefined ? 'not found' : 'found',
      figures: { 'found after seeds': foundAfter ?? '', 'seeds played': seeds },
    };
  }
  return {
    section: 'simulation',
    name: world,
    command: commandOf(world, minutes === undefined ? `--seeds ${seeds}` : `--minutes ${minutes}`),
    result: broken === 0 ? 'held' : 'broken',
    ...(broken === 0 ? {} : { why: `${broken} seeds broke a promise` }),
    figures: {
      'first seed': first,
      seeds,
      'virtual hours': (virtualMs / 3_600_000).toFixed(1),
      deliveries,
      faults,
      broken,
    },
  };
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
