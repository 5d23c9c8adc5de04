import type { Config } from '../../config/schema.ts';
import { socketPath } from '../../runtime/listen-host.ts';
import type { Log } from '../../runtime/ports.ts';
import { readOpenFiles } from '../open-files.ts';
import { threadCount } from '../realtime/thread-count.ts';
import { StartFailed } from '../start-failed.ts';
import { type MemoryLimit, memoryLimit } from './memory-limit.ts';
import {
  type MemoryPlan,
  type ShareName,
  SUPPORTED_BYTES,
  shareLabels,
  shareMemory,
} from './shares.ts';

const MIB = 1_048_576;

/** What is known of the memory before anything starts. */
export interface PlannedMemory {
  readonly limit: MemoryLimit;
  readonly plan: MemoryPlan;
  /** The number of realtime loops. */
  readonly threads: number;
}

/** Divides the memory of this server. Throws `StartFailed` if it is too little for any. */
export function planMemory(config: Config, limit = memoryLimit(config.memoryBytes)): PlannedMemory {
  const { channels, realtime } = config;
  // The kernel does not distribute the connections of a Unix socket.
  const isShareable = socketPath(channels.host) === undefined;
  const threads = isShareable ? threadCount(realtime.threads, limit.bytes) : 1;
  const openFiles = readOpenFiles();
  const plan = shareMemory({ memoryBytes: limit.bytes, config, threads, openFiles });
  if (plan.excessBytes === 0 && limit.bytes < plan.leastBytes) {
    const needed = Math.ceil(plan.leastBytes / MIB);
    const has = Math.floor(limit.bytes / MIB);
    const message = `memoryBytes: ${has} MiB (${sources[limit.from]}) are too little: a server with ${threads} realtime ${threads === 1 ? 'thread' : 'threads'} needs ${needed} MiB`;
    throw new StartFailed({ exitCode: 2, message });
  }
  return { limit, plan, threads };
}

const sources: Readonly<Record<MemoryLimit['from'], string>> = {
  setting: 'the setting',
  container: 'the limit of the container',
  machine: 'of the machine',
};

/** Logs how the memory is divided, and what is wrong with it. */
export function logMemory({ limit, plan }: PlannedMemory, log: Log): void {
  const { bytes, from } = limit;
  const memoryMiB = Math.floor(bytes / MIB);
  if (plan.isPlenty) log.info('Memory: all bounds are the usual ones', { memoryMiB, from });
  else log.info('Memory is divided among all bounds', { memoryMiB, from, sharesMiB: textOf(plan) });
  if (plan.excessBytes > 0) {
    const excessMiB = Math.ceil(plan.excessBytes / MIB);
    log.warn('Bounds that are set take more memory than there is', { memoryMiB, from, excessMiB });
  } else if (bytes < SUPPORTED_BYTES) {
    const supportedMiB = SUPPORTED_BYTES / MIB;
    log.warn('Less memory than a server is tested with', { memoryMiB, from, supportedMiB });
  }
}

/** What the server takes itself, and what each share takes if it is full. MiB. */
function textOf({ ownBytes, costs }: MemoryPlan): string {
  const shares = Object.entries(shareLabels).map(
    ([name, label]) => [label, costs[name as ShareName]] as const,
  );
  return [['own', ownBytes] as const, ...shares]
    .map(([label, bytes]) => `${label} ${Math.round(bytes / MIB)}`)
    .join(', ');
}
