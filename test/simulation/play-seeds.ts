import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SeedResult } from './worlds/world.ts';

/** How seeds of a world are played. */
interface Playing {
  readonly world: string;
  /** Whether each step is printed. */
  readonly isTraced?: boolean;
  /** A file for the history. Only for a single seed. */
  readonly history?: string | undefined;
}

export interface SeedsOrder extends Playing {
  readonly first: number;
  readonly count: number;
  /** Seeds that are played behind those, in another process than the first one. */
  readonly more?: readonly number[];
  /** Faults to plant. Only they are played, unless they come `afterwards`. */
  readonly sabotages?: readonly string[] | undefined;
  /** The faults are planted in the processes that have played the seeds: the first seed of a process takes as long as three others. */
  readonly afterwards?: boolean;
}

/** Seeds that one process plays. */
export interface ProcessOrder extends Playing {
  readonly seeds: readonly number[];
  /** For each fault, seeds are played until it is found. */
  readonly sabotages: readonly string[];
  readonly sabotagedSeeds: readonly number[];
}

/** What a seed has led to. */
export interface SeedLine extends SeedResult {
  readonly seed: number;
  /** Of its history. */
  readonly hash: string;
  /** What was planted, and the rule that must find it. */
  readonly sabotage?: string;
  readonly expected?: string;
}

/** Seeds of one process, at most: its memory does not grow, and no process waits long for the last one. */
const CHUNK = 25;
/** A planted fault must show within this many seeds. */
const SABOTAGED_SEEDS = 50;

/**
 * Plays seeds in processes of their own, as many at a time as there are cores, and hands over the result of each. Ends early
 * once `isOver` says so. A world that does not have the planted fault plays nothing. A process that fails is a result, too: its seed is broken by `crash`.
 */
export async function playSeeds(
  order: SeedsOrder,
  onSeed: (line: SeedLine) => void,
  isOver: () => boolean = () => false,
): Promise<void> {
  const { first, count, more = [], sabotages = [], afterwards = false, ...playing } = order;
  const total = count + more.length;
  const cores = availableParallelism();
  if (sabotages.length > 0 && !afterwards) {
    // What is planted is mostly found in the first seeds.
    const sabotagedSeeds = Array.from({ length: count }, (_, at) => first + at);
    await playChunk({ ...playing, seeds: [], sabotages, sabotagedSeeds }, onSeed, isOver);
    return;
  }
  const processes = more.length > 0 ? Math.max(2, cores) : cores;
  const chunk = Math.min(CHUNK, Math.ceil(total / processes));
  const chunks = Math.ceil(total / chunk);
  const sabotagedSeeds = Array.from({ length: SABOTAGED_SEEDS }, (_, at) => 1 + at);
  let next = 0;
  const play = async () => {
    while (next < chunks && !isOver()) {
      const number = next++;
      const from = number * chunk;
      const seeds = Array.from({ length: Math.min(chunk, total - from) }, (_, at) =>
        from + at < count ? first + from + at : (more[from + at - count] ?? first),
      );
      const some = sabotages.filter((_, at) => at % chunks === number);
      await playChunk({ ...playing, seeds, sabotages: some, sabotagedSeeds }, onSeed, isOver);
    }
  };
  await Promise.all(Array.from({ length: cores }, play));
}

/** What processes that compute all the time have. `npm test` lets others, which mostly wait, compile less. */
function environment(): Record<string, string | undefined> {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('BUN_JSC_threshold'));
  // Few seeds do not pay for the slowest compiler.
  return { ...Object.fromEntries(own), BUN_JSC_useFTLJIT: '0' };
}

async function playChunk(
  order: ProcessOrder,
  onSeed: (line: SeedLine) => void,
  isOver: () => boolean,
): Promise<void> {
  const script = join(import.meta.dir, 'seeds-process.ts');
  const child = Bun.spawn([process.execPath, script, JSON.stringify(order)], {
    env: environment(),
    stdio: ['ignore', 'pipe', order.isTraced === true ? 'inherit' : 'pipe'],
  });
  const problems = child.stderr === undefined ? '' : new Response(child.stderr).text();
  let played = 0;
  let unfinished = '';
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    const lines = (unfinished + decoder.decode(bytes, { stream: true })).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) {
      onSeed(JSON.parse(line) as SeedLine);
      played++;
    }
    if (isOver()) child.kill();
  }
  if ((await child.exited) === 0 || isOver()) return;
  const text = `The process ended with ${child.exitCode ?? child.signalCode}: ${await problems}`;
  const none = { virtualMs: 0, deliveries: 0, faults: 0, hash: '' };
  onSeed({ seed: order.seeds[played] ?? 0, ...none, broken: [{ rule: 'crash', text }] });
}
