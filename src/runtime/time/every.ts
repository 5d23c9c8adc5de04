import type { Timers } from '../ports.ts';

/** Calls `run` after each interval, however long what it starts may take: else use a `Poller`. Returns how to stop it. */
export function every(timers: Timers, intervalMs: number, run: () => void): () => void {
  let cancel = timers.after(intervalMs, tick);
  function tick(): void {
    cancel = timers.after(intervalMs, tick);
    run();
  }
  return () => cancel();
}
