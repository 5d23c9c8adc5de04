import type { Log } from '../../../runtime/ports.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { FileGuard } from '../../file-guard.ts';
import type { LoopLinks } from '../../link/loop-links.ts';
import { loopName } from '../../link/loop-name.ts';
import type { OpenFiles } from '../../open-files.ts';
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
  readonly log: Log;
}

/** Stops listening while few file descriptors are left. */
export interface FileChecks {
  start(): void;
  stop(): void;
  /** Sets the number of connections of the push listener. */
  pushConnectionsAre(open: number): void;
}

export function openFileChecks({
  openFiles,
  listeners,
  links,
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
  let pushConnections = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    start() {
      timer = setInterval(() => guard?.check(pushConnections), INTERVAL_MS);
    },
    stop: () => clearInterval(timer),
    pushConnectionsAre(open) {
      pushConnections = open;
    },
  };
}
