import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** What a figure depends on besides the code. */
export interface Conditions {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  /** TCP's congestion control; `bbr` also paces what it sends. */
  readonly congestionControl: string;
  readonly bun: string;
  /** Processes that wanted to run in the last minute, before anything was measured. */
  readonly loadAverage: number;
  readonly pinning: string;
  /** The commit of the working tree, with `-dirty` if it has changes; `undefined` outside a clone. */
  readonly commit: string | null;
}

/** Describes this machine as it is now. */
export function describeConditions(pinning: string): Conditions {
  return {
    date: new Date().toISOString(),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
    congestionControl: readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim(),
    bun: Bun.version,
    loadAverage: loadavg()[0] ?? 0,
    pinning,
    commit: commit(),
  };
}

function commit(): string | null {
  if (Bun.which('git') === null) return null;
  const git = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd: import.meta.dir });
  const head = git('rev-parse', 'HEAD');
  if (!head.success) return null;
  const isDirty = git('status', '--porcelain').stdout.length > 0;
  return `${head.stdout.toString().trim()}${isDirty ? '-dirty' : ''}`;
}
