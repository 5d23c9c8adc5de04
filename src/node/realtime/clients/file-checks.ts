import type { TableMeter } from '../../../observability/meter.ts';
import type { Log } from '../../../runtime/ports.ts';
import type { SocketMarks } from '../../../runtime/shared-memory/socket-marks.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { every } from '../../../runtime/time/every.ts';
import type { TrustedProxies } from '../../../runtime/trusted-proxies.ts';
import { FileGuard } from '../../file-guard.ts';
import type { LoopLinks } from '../../link/loop-links.ts';
import { loopName } from '../../link/loop-name.ts';
import { countOpenFiles, type OpenFiles } from '../../open-files.ts';
import { IdleSockets } from '../../sockets/idle-sockets.ts';
import { openKernelSockets } from '../../sockets/kernel-sockets.ts';
import type { Listeners } from './listeners.ts';

/**
 * The interval of counting descriptors, which takes 3 µs. Several thousand connections can arrive per second, and the
 * descriptors reserved for the server itself must last until the next count. Milliseconds.
 */
const INTERVAL_MS = 20;

export interface FileChecksOptions {
  /** `undefined`: the system does not report its limit, and nothing is checked. */
  readonly openFiles: OpenFiles | undefined;
  readonly listeners: Listeners;
  readonly links: LoopLinks;
  readonly socketsInUse: SocketMarks;
  readonly proxies: TrustedProxies;
  readonly meter: TableMeter;
  readonly log: Log;
}

/** Stops listening while few file descriptors are left. */
export interface FileChecks {
  start(): void;
  stop(): void;
  /** Sets the number of connections of the push listener. */
  setPushConnections(open: number): void;
}

export function openFileChecks({
  openFiles,
  listeners,
  links,
  socketsInUse,
  proxies,
  meter,
  log,
}: FileChecksOptions): FileChecks {
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
      threshold: openFiles.threshold,
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
