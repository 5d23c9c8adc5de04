import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { every } from '../../../runtime/time/every.ts';
import { FileGuard } from '../../file-guard.ts';
import { loopName } from '../../link/loop-name.ts';
import type { MemoryPlan } from '../../memory/shares.ts';
import { countOpenFiles, type OpenFiles } from '../../open-files.ts';
import { IdleSockets, type IdleSocketsOptions } from '../../sockets/idle-sockets.ts';
import { openKernelSockets } from '../../sockets/kernel-sockets.ts';
import type { LoopBase } from '../loop-base.ts';
import type { Listeners } from './listeners.ts';

/**
 * The interval of counting descriptors, which takes 3 µs. Several thousand connections can arrive per second, and the
 * descriptors reserved for the server itself must last until the next count. Milliseconds.
 */
const INTERVAL_MS = 20;

/** Descriptors for each connection of a client that fits in the memory. Idle ones, with up to 12 KiB each, have a quarter of them. */
const WITH_IDLE = 5 / 3;

/** Stops listening while few file descriptors are left. Checks nothing where the system does not report its limit. */
export interface FileChecks {
  start(): void;
  stop(): void;
  /** Sets the number of connections of the push listener. */
  setPushConnections(open: number): void;
}

export function openFileChecks(base: LoopBase, listeners: Listeners): FileChecks {
  const { openFiles, memory, links, socketsInUse, proxies, meter, log } = base;
  const guard =
    openFiles &&
    new FileGuard({
      openFiles,
      listeners,
      log,
      clock: monotonicTimers,
      ...(links.count > 1 && { loop: loopName(links.index) }),
    });
  // Descriptors belong to the process, so one loop looks at those of all.
  const kernel = openFiles !== undefined && links.index === 0 ? openKernelSockets() : undefined;
  const idle =
    kernel &&
    openFiles &&
    new IdleSockets({
      sockets: kernel,
      marks: socketsInUse,
      port: () => listeners.listeningPort,
      ...idleBound(memory, openFiles),
      trusts: (address) => proxies.trusts(address),
      onEnded: (count) => meter.count('connectionsRefused', count, 'idle'),
      log,
      clock: monotonicTimers,
    });
  let pushConnections = 0;
  let stopChecks: (() => void) | undefined;
  return {
    start() {
      stopChecks = every(monotonicTimers, INTERVAL_MS, () => {
        if (openFiles === undefined) return;
        const { limit } = openFiles;
        const ending = idle?.check(countOpenFiles(limit) - pushConnections, limit) ?? 0;
        guard?.check(pushConnections + ending);
      });
    },
    stop: () => stopChecks?.(),
    setPushConnections(open) {
      pushConnections = open;
    },
  };
}

/** Returns how many descriptors the channels listener may use before idle connections are closed. */
function idleBound(
  { shares, isPlenty }: MemoryPlan,
  { threshold }: OpenFiles,
): Pick<IdleSocketsOptions, 'threshold' | 'bound'> {
  const inMemory = isPlenty ? Number.POSITIVE_INFINITY : Math.ceil(shares.connections * WITH_IDLE);
  return inMemory < threshold
    ? { threshold: inMemory, bound: 'memory' }
    : { threshold, bound: 'open files' };
}
