import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Where the kernel shows control groups. */
const CGROUPS = '/sys/fs/cgroup';

/** The largest number of threads that `auto` chooses. The setting has the same maximum. */
const THREADS_MAX = 64;

/** What the number of threads depends on. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  /** The cores that the process may use by its affinity. */
  readonly cores: number;
  /** Reads a file; `undefined` if it cannot be read. */
  readonly read: (file: string) => string | undefined;
}

const thisMachine: Machine = {
  platform: process.platform,
  cores: availableParallelism(),
  read(file) {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      // Which files exist depends on the version of control groups.
      return undefined;
    }
  },
};

/** Returns the number of realtime loops. */
export function threadCount(threads: 'auto' | number, machine = thisMachine): number {
  if (threads !== 'auto') return threads;
  // Other kernels do not distribute the connections of a port among several listeners.
  if (machine.platform !== 'linux') return 1;
  // One core is for the background loop. On two cores, a second realtime loop would cost memory and messages between
  // the loops, and serve more events than the network of such a machine carries.
  return Math.min(THREADS_MAX, Math.max(1, usableCores(machine) - 1));
}

/** Returns how many cores the process may use: by its affinity and the quotas of its control groups. */
export function usableCores({ cores, read }: Machine): number {
  const quota = Math.min(...groupsOf(read).map((group) => quotaOf(group, read)));
  return Math.max(1, Math.floor(Math.min(cores, quota)));
}

/** The folders of this process's control groups and of their parents. Each may have a quota. */
function groupsOf(read: Machine['read']): readonly string[] {
  const lines = (read('/proc/self/cgroup') ?? '').split('\n');
  return lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) return [];
    // Version 2 has no controllers here. Where both versions are mounted, it is in its own folder.
    if (controllers === '') {
      return [...withParents(CGROUPS, path), ...withParents(`${CGROUPS}/unified`, path)];
    }
    if (!controllers.split(',').includes('cpu')) return [];
    // A container sees its own group as the root, although the path may be that of the host.
    return [
      ...withParents(`${CGROUPS}/${controllers}`, path),
      ...withParents(`${CGROUPS}/cpu`, path),
    ];
  });
}

function withParents(root: string, path: string): readonly string[] {
  const steps = path.split('/').filter((step) => step !== '');
  return [root, ...steps.map((_, index) => `${root}/${steps.slice(0, index + 1).join('/')}`)];
}

/** Returns the cores that the quota of one control group allows. */
function quotaOf(group: string, read: Machine['read']): number {
  const [quota, period] = read(`${group}/cpu.max`)?.trim().split(' ') ?? [
    read(`${group}/cpu.cfs_quota_us`),
    read(`${group}/cpu.cfs_period_us`),
  ];
  const cores = Number(quota) / Number(period);
  // "max" and -1 mean that there is no quota.
  return cores > 0 ? cores : Number.POSITIVE_INFINITY;
}
