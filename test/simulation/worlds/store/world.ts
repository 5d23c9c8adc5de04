import type { Random } from '../../../../testing/random.ts';
import { useKernel } from '../../kernel/globals.ts';
import { Kernel } from '../../kernel/kernel.ts';
import type { Seed, World } from '../world.ts';
import { Disk, type DiskFault, diskFaults } from './disk.ts';
import { type Conditions, StoreWorld } from './store-world.ts';

/** How many calls of the disk fail in a seed. */
const RATES = [0, 0.002, 0.01, 0.03] as const;
const CHAOS_MS = 8_000;

/** The seed whose calls fail one after the other, and how long it lasts. */
const EVERY_CALL_SEED = 2;
const EVERY_CALL_MS = 12_000;

/** A step through all calls that meets each once: a prime beyond their number. */
const STEP = 7_919;

const sabotages = {
  'lose-webhook': 'webhooks',
  'double-webhook': 'webhooks',
  'lose-answered': 'pushes',
} as const;

useKernel(new Kernel(0));
const disk = await Disk.open();

/** Webhooks and push over SQLite: the real stores, dispatcher and pipeline. The disk is modelled, and fails at random calls. */
export const store: World = {
  sabotages,
  async run(seed) {
    let rate: number | undefined;
    const fault = (_: number, random: Random): DiskFault | undefined => {
      rate ??= random.pick(RATES);
      return random.chance(rate) ? random.pick(diskFaults) : undefined;
    };
    return await new StoreWorld(seed, disk, { chaosMs: CHAOS_MS, fault }).run();
  },
};

/** The calls that could fail, of a seed that nothing disturbs. */
let calls: Promise<readonly number[]> | undefined;

async function findCalls(): Promise<readonly number[]> {
  const found: number[] = [];
  const quiet: Conditions = { chaosMs: EVERY_CALL_MS, fault: (call) => void found.push(call) };
  const seed = { seed: EVERY_CALL_SEED, sabotage: undefined, trace: undefined };
  await new StoreWorld({ ...seed, history: () => undefined }, disk, quiet).run();
  return found;
}

/** The same, with one fault: each seed fails another call in another way, until each has failed in each way. */
export const everyCall: World = {
  sabotages,
  async run(given) {
    calls ??= findCalls();
    const all = await calls;
    const place = (given.seed * STEP) % (all.length * diskFaults.length);
    const at = all[Math.floor(place / diskFaults.length)];
    const what = diskFaults[place % diskFaults.length];
    const fault = (call: number) => (call === at ? what : undefined);
    const seed: Seed = { ...given, seed: EVERY_CALL_SEED };
    return await new StoreWorld(seed, disk, { chaosMs: EVERY_CALL_MS, fault }).run();
  },
};
