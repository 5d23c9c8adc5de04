import type { Clock, Log } from '../runtime/ports.ts';
import { countOpenFiles, type OpenFiles } from './open-files.ts';

/** New connections are taken again once this share of the threshold is free. */
const FREE_AGAIN = 0.05;

/**
 * A pause lasts this long for each server there is, since it adds another one until the connections of the last have
 * ended. Whoever fills and empties the descriptors again and again would otherwise make any number of them. Milliseconds.
 */
const PAUSE_PER_SERVER_MS = 50;

/** Silent connections stay open as long as this, so a longer pause would be a better attack than they are. Milliseconds. */
const PAUSE_MAX_MS = 12_000;

export interface FileGuardOptions {
  readonly openFiles: OpenFiles;
  readonly listeners: { readonly serverCount: number; pause(): void; resume(): void };
  readonly log: Log;
  /** Monotonic. */
  readonly clock: Clock;
  /** Stands in for the kernel's count in tests. */
  readonly count?: (limit: number) => number;
}

/**
 * Stops listening while there are too few descriptors left. Connections that never send a request are counted by
 * nobody else; without descriptors, Bun's loop would try to accept them for ever and use a whole core, and
 * nothing else of this server could open a file or a connection. Bun ends silent connections after 12 seconds.
 */
export class FileGuard {
  private readonly options: FileGuardOptions;
  private isPaused = false;
  private pausedUntilMs = 0;

  constructor(options: FileGuardOptions) {
    this.options = options;
  }

  /**
   * To be called many times a second, with the number of push connections: they have a share of their own. Gives how
   * many descriptors are in use.
   */
  check(pushConnections: number): number {
    const { openFiles, listeners, log, clock, count = countOpenFiles } = this.options;
    const { limit, threshold } = openFiles;
    const used = count(limit);
    // Where the kernel counts nothing, it is either none or all of them.
    const counted = used < limit ? used - pushConnections : used;
    if (!this.isPaused && counted >= threshold) {
      this.isPaused = true;
      const pauseMs = Math.min(PAUSE_MAX_MS, listeners.serverCount * PAUSE_PER_SERVER_MS);
      this.pausedUntilMs = clock.now() + pauseMs;
      listeners.pause();
      log.warn('New connections are refused: too many files are open', { used, limit, threshold });
    } else if (this.isPaused && counted < threshold * (1 - FREE_AGAIN)) {
      if (clock.now() >= this.pausedUntilMs) this.resume(used);
    }
    return used;
  }

  private resume(used: number): void {
    const { listeners, log } = this.options;
    try {
      listeners.resume();
      this.isPaused = false;
      log.info('New connections are taken again', { used });
    } catch (error) {
      // Tried again with the next check.
      log.error('The channels listener cannot be opened again', { why: String(error) });
    }
  }
}
