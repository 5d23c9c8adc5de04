import { availableParallelism } from 'node:os';
import { groupsOf, type ReadFile, readIfThere } from '../control-groups.ts';

/** The largest number of threads that `auto` chooses. The setting has the same maximum. */
const THREADS_MAX = 64;

/** The memory from which on `auto` chooses a second thread, and for each further one. Bytes. */
const MEMORY_OF_TWO = 512 * 1024 * 1024;
const MEMORY_OF_THREAD = 64 * 1024 * 1024;

/** What the number of threads depends on. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  /** The cores that the process may use by its affinity. */
  readonly cores: number;
  readonly read: ReadFile;
}

const thisMachine: Machine = {
  platform: process.platform,
  cores: availableParallelism(),
  read: readIfThere,
};

/** Returns the number of realtime loops. `memoryBytes`: what the server may use. */
export function threadCount(
  threads: 'auto' | number,
  memoryBytes: number,
  machine = thisMachine,
): number {
  if (threads !== 'auto') return threads;
  // Other kernels do not distribute the connections of a port among several listeners.
  if (machine.platform !== 'linux') return 1;
  // One core is for the background loop. On two cores, a second realtime loop would cost memory and messages between
  // the loops, and serve more events than the network of such a machine carries.
  const withMemory = 2 + Math.floor((memoryBytes - MEMORY_OF_TWO) / MEMORY_OF_THREAD);
  return Math.max(1, Math.min(THREADS_MAX, usableCores(machine) - 1, withMemory));
}

/** Returns how many cores the process may use: by its affinity and the quotas of its control groups. */
export function usableCores({ cores, read }: Machine): number {
  const quota = Math.min(...groupsOf(read, 'cpu').map((group) => quotaOf(group, read)));
  return Math.max(1, Math.floor(Math.min(cores, quota)));
}

/** Returns the cores that the quota of one control group allows. */
function quotaOf(group: string, read: ReadFile): number {
  const [quota, period] = read(`${group}/cpu.max`)?.trim().split(' ') ?? [
    read(`${group}/cpu.cfs_quota_us`),
    read(`${group}/cpu.cfs_period_us`),
  ];
  const cores = Number(quota) / Number(period);
  // "max" and -1 mean that there is no quota.
  return cores > 0 ? cores : Number.POSITIVE_INFINITY;
}
