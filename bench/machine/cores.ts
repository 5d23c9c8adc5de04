import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** The commands that hold the server and the load generator to a core each, to be put before theirs. */
export interface Pinning {
  readonly server: readonly string[];
  readonly load: readonly string[];
  /** Whether they have a core each, so that neither is in the other's way. */
  readonly areApart: boolean;
  /** A description for people. */
  readonly description: string;
}

/** Reads a list of cores as the kernel writes it, such as `0-3,8`. */
export function parseCores(list: string): number[] {
  return list
    .trim()
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

/** Finds a core for the server and another for the load, if the machine has two and can pin processes. */
export function findPinning(): Pinning {
  if (process.platform !== 'linux' || Bun.which('taskset') === null) {
    return {
      server: [],
      load: [],
      areApart: false,
      description: `not pinned (no taskset), ${availableParallelism()} cores`,
    };
  }
  const status = readFileSync('/proc/self/status', 'utf8');
  const [first, second] = parseCores(/^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1] ?? '');
  if (first === undefined || second === undefined) {
    return {
      server: [],
      load: [],
      areApart: false,
      description: 'server and load share the only core',
    };
  }
  return {
    server: ['taskset', '-c', String(second)],
    load: ['taskset', '-c', String(first)],
    areApart: true,
    description: `server on core ${second}, load on core ${first}`,
  };
}
