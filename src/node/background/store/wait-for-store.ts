import type { Log, Timers } from '../../../runtime/ports.ts';
import { pause } from '../../../runtime/time/pause.ts';
import { StoreAway } from '../../../stores/database/faults.ts';

/** How long a start waits for a database that cannot be used yet: as long as for Redis. */
const START_MAX_MS = 10_000;
const RETRY_MS = 500;

export interface WaitOptions {
  readonly log: Pick<Log, 'warn'>;
  /** Must be monotonic. */
  readonly timers: Timers;
}

/**
 * Opens the store, and tries again for 10 s while its database is away: after a power failure, both may start at the same
 * time. Logs each reason once. Rejects with the last reason.
 */
export async function waitForStore<Store>(
  open: () => Promise<Store>,
  { log, timers }: WaitOptions,
): Promise<Store> {
  const endMs = timers.now() + START_MAX_MS;
  const logged = new Set<string>();
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof StoreAway) || timers.now() + RETRY_MS > endMs) throw error;
      const why = error.message;
      if (!logged.has(why)) log.warn('The store cannot be used yet', { why });
      logged.add(why);
    }
    await pause(timers, RETRY_MS);
  }
}
