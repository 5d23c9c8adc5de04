import type { Clock, Timers } from '../../../runtime/ports.ts';
import { Poller } from '../../../runtime/time/poller.ts';

/** The pause between two pieces, so that requests of clients get their turn. */
const PIECE_PAUSE_MS = 5;

/** The pause after nothing was left to delete. */
const IDLE_PAUSE_MS = 5000;

export interface GarbageLoopOptions {
  /** Deletes a small piece. Returns whether more may be left. */
  readonly collectSome: (nowMs: number) => Promise<boolean>;
  /** Reports that the store could not be used. */
  readonly storeFailed: (error: unknown) => void;
  /** The clock by which stored rows become too old. */
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Deletes unreachable rows, piece by piece, until the poller is stopped. */
export function startGarbageLoop(options: GarbageLoopOptions): Poller {
  const { collectSome, storeFailed, clock, timers } = options;
  const poller = new Poller(timers, async () => {
    try {
      return (await collectSome(clock.now())) ? PIECE_PAUSE_MS : IDLE_PAUSE_MS;
    } catch (error) {
      storeFailed(error);
      return IDLE_PAUSE_MS;
    }
  });
  poller.wakeLater(IDLE_PAUSE_MS);
  return poller;
}
