import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SeedResult } from './worlds/world.ts';

/** How seeds of a world are played. */
interface Playing {
  readonly world: string;
  /** Faults to plant: the seeds are played for each, until it is found. */
  readonly sabotages?: readonly string[] | undefined;
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
}

/** Seeds that one process plays. */
export interface ProcessOrder extends Playing {
  readonly seeds: readonly number[];
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
/** The same, of seeds with planted faults. */
const SABOTAGED_CHUNK = 50;

/**
 * Plays seeds in processes of their own, as many at a time as there are cores, and hands over the result of each. Ends early
 * once `isOver` says so. A world that does not have the planted fault plays nothing. A process that fails is a result, too: its seed is broken by `crash`.
 */
export async function playSeeds(
  order: SeedsOrder,
  onSeed: (line: SeedLine) => void,
  isOver: () => boolean = () => false,
): Promise<void> {
  const { first, count, more = [], ...playing } = order;
  const total = count + more.length;
  const cores = availableParallelism();
  const processes = more.length > 0 ? Math.max(2, cores) : cores;
  // What is planted is mostly found in the first seeds.
  const chunk =
    order.sabotages === undefined
      ? Math.min(CHUNK, Math.ceil(total / processes))
      : Math.min(SABOTAGED_CHUNK, total);
  let next = 0;
  const play = async () => {
    while (next < total && !isOver()) {
      const from = next;
      next = Math.min(total, from + chunk);
      const seeds = Array.from({ length: next - from }, (_, at) =>
        from + at < count ? first + from + at : (more[from + at - count] ?? first),
      );
      await playChunk({ ...playing, seeds }, onSeed, isOver);
    }
  };
  await Promise.all(Array.from({ length: cores }, play));
}

async function playChunk(
  order: ProcessOrder,
  onSeed: (line: SeedLine) => void,
  isOver: () => boolean,
): Promise<void> {
  const script = join(import.meta.dir, 'seeds-process.ts');
  const child = Bun.spawn([process.execPath, script, JSON.stringify(order)], {
    // Few seeds do not pay for the slowest compiler.
    env: { ...process.env, BUN_JSC_useFTLJIT: '0' },
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
