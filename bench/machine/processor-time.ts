import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { usedSecondsOf } from './cpu-usage.ts';

/**
 * Processor time that all threads of a process have used since its start, in seconds: to the nanosecond, or to 10 ms on
 * a kernel that does not count so. Linux only.
 */
export function processorSeconds(pid: number): number {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(`/proc/${pid}/schedstat`)) return usedSecondsOf(pid).allThreads;
  const nanoseconds = readdirSync(folder).map((thread) =>
    Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e9;
}
