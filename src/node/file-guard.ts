import { messageOf } from '../runtime/error-code.ts';
import type { Clock, Log } from '../runtime/ports.ts';
import { countOpenFiles, type OpenFiles } from './open-files.ts';

/** Listening resumes when this share of the threshold is free again. */
const FREE_AGAIN = 0.05;

/**
 * The base length of a pause; multiplied by the number of existing HTTP servers. Each pause leaves behind a server
 * until its connections have ended, and without this an attacker who repeatedly fills and frees the descriptors could
 * cause any number of them.
 */
const PAUSE_PER_SERVER_MS = 50;

/** Bun closes silent connections after this time. A longer pause would do more harm than the attack. */
const PAUSE_MAX_MS = 12_000;

export interface FileGuardOptions {
  readonly openFiles: OpenFiles;
  readonly listeners: { readonly serverCount: number; pause(): void; resume(): void };
  readonly log: Log;
  /** A monotonic clock. */
  readonly clock: Clock;
  /** The name of the loop in log lines, if there are several. Each loop guards its own listener. */
  readonly loop?: string;
  /** Replaces the kernel's count in tests. */
  readonly count?: (limit: number) => number;
}

/**
 * Stops listening while few descriptors are left. Without free descriptors, Bun's loop would retry to accept
 * connections forever and use a whole core, and the server could open neither files nor connections. `IdleSockets`
 * closes idle connections before; this guard is for connections that arrive faster, and where the kernel cannot be asked.
 */
export class FileGuard {
  private readonly options: FileGuardOptions;
  private isPaused = false;
  private pausedUntilMs = 0;

  constructor(options: FileGuardOptions) {
    this.options = options;
  }

  /**
   * Checks the descriptors; called many times a second. Returns how many are in use. `exempt` are not counted: those of push
   * connections, which have a share of their own, and of connections that are just ending.
   */
  check(exempt: number): number {
    const { openFiles, listeners, log, clock, loop, count = countOpenFiles } = this.options;
    const { limit, threshold } = openFiles;
    const used = count(limit);
    // A kernel that does not count reports 0, or `limit` when none is left.
    const counted = used < limit ? used - exempt : used;
    if (!this.isPaused && counted >= threshold) {
      this.isPaused = true;
      const pauseMs = Math.min(PAUSE_MAX_MS, listeners.serverCount * PAUSE_PER_SERVER_MS);
      this.pausedUntilMs = clock.now() + pauseMs;
      listeners.pause();
      log.warn('New connections refused: too many open files', { loop, used, limit, threshold });
    } else if (this.isPaused && counted < threshold * (1 - FREE_AGAIN)) {
      if (clock.now() >= this.pausedUntilMs) this.resume(used);
    }
    return used;
  }

  private resume(used: number): void {
    const { listeners, log, loop } = this.options;
    try {
      listeners.resume();
      this.isPaused = false;
      log.info('New connections accepted again', { loop, used });
    } catch (error) {
      // The next check retries.
      log.error('Channels listener cannot be opened again', { loop, why: messageOf(error) });
    }
  }
}
