import { readFileSync } from 'node:fs';

const KIBIBYTE = 1024;

/**
 * Reads how much memory of this machine a process occupies, exactly: the figure in `status` may be some
 * pages behind. What the kernel itself keeps for its connections is no part of it. Linux only.
 */
export function residentBytes(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const found = /^Rss:\s+(\d+) kB$/m.exec(rollup)?.[1];
  if (found === undefined) throw new Error(`the kernel does not show the memory of process ${pid}`);
  return Number(found) * KIBIBYTE;
}
