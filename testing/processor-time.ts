import { readFileSync } from 'node:fs';
import type { Fanfare } from './servers/fanfare.ts';

/**
 * How much processor time a server has used. Tests of fairness measure with it what a server does before it answers: on a
 * busy machine an answer may take any time, but the server does no more for it.
 */

/** The unit of the kernel. Milliseconds. */
const TICK_MS = 10;

/** The processor time of all threads so far, of all servers that act as one. Milliseconds. */
export function processorMs({ nodes }: Pick<Fanfare, 'nodes'>): number {
  return nodes.reduce((sum, node) => sum + ticksOf(node.process.pid) * TICK_MS, 0);
}

function ticksOf(pid: number): number {
  // The name of the program, in parentheses, may contain anything.
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/.*\) /s);
  const fields = after.split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
