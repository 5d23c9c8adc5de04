import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { FileGuard } from '../../file-guard.ts';
import { loopName } from '../../link/loop-name.ts';
import type { MemoryPlan } from '../../memory/shares.ts';
import { countOpenFiles, type OpenFiles } from '../../open-files.ts';
import { IdleSockets, type IdleSocketsOptions, SCARCE } from '../../sockets/idle-sockets.ts';
import { openKernelSockets } from '../../sockets/kernel-sockets.ts';
import type { LoopBase } from '../loop-base.ts';
import type { Listeners } from './listeners.ts';

/**
 * The interval of counting descriptors, which takes 3 µs. Several thousand connections can arrive per second, and the
 * descriptors reserved for the server itself must last until the next count. Milliseconds.
 */
const INTERVAL_MS = 20;

/** While at least this many are free before they are scarce, they are counted less often: nobody opens 50,000 connections per second. */
const PLENTY = 10_000;
const PLENTY_INTERVAL_MS = 200;

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
  const bound = openFiles && idleBound(memory, openFiles);
  const idle =
    kernel &&
    bound &&
    new IdleSockets({
      sockets: kernel,
      marks: socketsInUse,
      port: () => listeners.listeningPort,
      ...bound,
      trusts: (address) => proxies.trusts(address),
      onEnded: (count) => meter.count('connectionsRefused', count, 'idle'),
      log,
      clock: monotonicTimers,
    });
  let pushConnections = 0;
  let stopChecks: (() => void) | undefined;
  /** Returns the descriptors in use; 0 if the kernel does not count them. */
  const check = (limit: number): number => {
    const used = countOpenFiles(limit);
    const ending = idle?.check(used - pushConnections, limit) ?? 0;
    guard?.check(pushConnections + ending);
    return used;
  };
  return {
    start() {
      if (openFiles === undefined || bound === undefined) return;
      const { limit, threshold } = openFiles;
      const free = Math.min(threshold, bound.threshold) * SCARCE - PLENTY;
      const tick = () => {
        let used = 0;
        try {
          used = check(limit);
        } finally {
          const arePlenty = used > 0 && used <= free;
          stopChecks = monotonicTimers.after(arePlenty ? PLENTY_INTERVAL_MS : INTERVAL_MS, tick);
        }
      };
      stopChecks = monotonicTimers.after(INTERVAL_MS, tick);
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
