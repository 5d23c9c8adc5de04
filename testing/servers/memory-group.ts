import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const CGROUPS = '/sys/fs/cgroup';

/** A control group with a limit of memory, in which a server can be started. */
export interface MemoryGroup extends Disposable {
  /** Begins a command line: what follows runs in the group. */
  readonly command: readonly string[];
  /** How many processes the kernel has killed because the memory was used up. */
  kills(): number;
  /** What cannot be given back: memory of the processes, and of their sockets. */
  usedBytes(): number;
}

/** What differs between the two versions. */
interface Version {
  readonly folder: string;
  readonly limits: Readonly<Record<string, string>>;
  /** Files that not every kernel has. */
  readonly wishes: Readonly<Record<string, string>>;
  readonly killsIn: string;
  /** Lines of `memory.stat`. */
  readonly used: readonly string[];
  /** Files with bytes that are used beside these. */
  readonly alsoUsed: readonly string[];
}

/**
 * Makes a control group below that of this process, or if that is impossible below one of its parents. Returns the reason if
 * none can be made: this needs root, and a file system of control groups that can be written.
 */
export function makeMemoryGroup(limitBytes: number): MemoryGroup | string {
  const version = versionHere(limitBytes);
  if (version === undefined) return 'There are no control groups for memory';
  let why: unknown;
  for (let parent = version.folder; parent.startsWith(CGROUPS); parent = dirname(parent)) {
    const folder = join(parent, `fanfare-test-${crypto.randomUUID()}`);
    try {
      mkdirSync(folder);
    } catch (error) {
      why = error;
      continue;
    }
    try {
      return open(folder, version);
    } catch (error) {
      why = error;
      rmdirSync(folder);
    }
  }
  return `No control group can be made: ${String(why)}`;
}

function versionHere(limitBytes: number): Version | undefined {
  const own = readFileSync('/proc/self/cgroup', 'utf8');
  const [, first] = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(\/.*)$/m.exec(own) ?? [];
  if (first !== undefined) {
    return {
      folder: join(CGROUPS, 'memory', first),
      limits: { 'memory.limit_in_bytes': String(limitBytes) },
      // Sockets are counted from the first limit on.
      wishes: {
        'memory.kmem.tcp.limit_in_bytes': String(2 ** 40),
        'memory.memsw.limit_in_bytes': String(limitBytes),
      },
      killsIn: 'memory.oom_control',
      used: ['rss'],
      alsoUsed: ['memory.kmem.usage_in_bytes', 'memory.kmem.tcp.usage_in_bytes'],
    };
  }
  const [, second] = /^0::(\/.*)$/m.exec(own) ?? [];
  if (second === undefined) return undefined;
  return {
    folder: join(CGROUPS, second),
    limits: { 'memory.max': String(limitBytes) },
    wishes: { 'memory.swap.max': '0' },
    killsIn: 'memory.events',
    used: ['anon', 'kernel_stack', 'slab', 'sock'],
    alsoUsed: [],
  };
}

function open(folder: string, { limits, wishes, killsIn, used, alsoUsed }: Version): MemoryGroup {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  // Version 2 passes a controller on only if it is told to.
  tryWrite(join(dirname(folder), 'cgroup.subtree_control'), '+memory');
  for (const [name, value] of Object.entries(limits)) {
    const file = join(folder, name);
    if (!existsSync(file)) throw new Error(`${file} does not exist`);
    writeFileSync(file, value);
  }
  for (const [name, value] of Object.entries(wishes)) tryWrite(join(folder, name), value);
  const numberOf = (text: string, name: string) =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  return {
    command: ['sh', '-c', 'echo $$ >"$0" && exec "$@"', join(folder, 'cgroup.procs')],
    kills: () => numberOf(read(killsIn), 'oom_kill'),
    usedBytes() {
      const stat = read('memory.stat');
      const inStat = used.map((name) => numberOf(stat, name));
      return [...inStat, ...alsoUsed.map((name) => Number(read(name)))].reduce((a, b) => a + b);
    },
    [Symbol.dispose]: () => rmdirSync(folder),
  };
}

function tryWrite(file: string, value: string): void {
  try {
    writeFileSync(file, value);
  } catch {
    // Not every version and kernel has it.
  }
}
