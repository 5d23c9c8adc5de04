import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { SeedResult } from './worlds/world.ts';

/** Seeds that one process plays. */
export interface SeedsOrder {
  readonly world: string;
  readonly first: number;
  readonly count: number;
  /** Faults to plant: the seeds are played for each, until it is found. */
  readonly sabotages?: readonly string[] | undefined;
  /** Whether each step is printed. */
  readonly isTraced?: boolean;
  /** A file for the history. Only for a single seed. */
  readonly history?: string | undefined;
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

/**
 * Plays seeds in processes of their own, as many at a time as there are cores, and hands over the result of each. Ends early
 * once `isOver` says so. A world that does not have the planted fault plays nothing. A process that fails is a result, too: its seed is broken by `crash`.
 */
export async function playSeeds(
  order: SeedsOrder,
  onSeed: (line: SeedLine) => void,
  isOver: () => boolean = () => false,
): Promise<void> {
  const end = order.first + order.count;
  let next = order.first;
  const cores = availableParallelism();
  // What is planted is mostly found in the first seeds.
  const parts = order.sabotages === undefined ? cores : 1;
  const chunk = Math.min(CHUNK, Math.ceil(order.count / parts));
  const processes = Math.min(cores, Math.ceil(order.count / chunk));
  await Promise.all(
    Array.from({ length: processes }, async () => {
      while (next < end && !isOver()) {
        const first = next;
        const count = Math.min(chunk, end - first);
        next += count;
        await playChunk({ ...order, first, count }, onSeed, isOver);
      }
    }),
  );
}

async function playChunk(
  order: SeedsOrder,
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
  let seed = order.first;
  let unfinished = '';
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    const lines = (unfinished + decoder.decode(bytes, { stream: true })).split('\n');
    unfinished = lines.pop() ?? '';
    for (const line of lines) {
      onSeed(JSON.parse(line) as SeedLine);
      seed++;
    }
    if (isOver()) child.kill();
  }
  if ((await child.exited) === 0 || isOver()) return;
  const text = `The process ended with ${child.exitCode ?? child.signalCode}: ${await problems}`;
  const none = { virtualMs: 0, deliveries: 0, faults: 0, hash: '' };
  onSeed({ seed, ...none, broken: [{ rule: 'crash', text }] });
}
