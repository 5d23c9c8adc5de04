import { setTimeout as sleep } from 'node:timers/promises';
import { OTHERS_MAX, watchCpu } from './cpu-usage.ts';

const WINDOW_MS = 500;
const WITHIN_MS = 30_000;

/** How often a measurement is repeated because other processes used the machine. */
const TRIES_MAX = 3;

/**
 * Waits for a moment without other load on this machine, but not for long. Call it while the measured process is
 * idle.
 */
export async function quiet(): Promise<void> {
  for (let waitedMs = 0; waitedMs < WITHIN_MS; waitedMs += WINDOW_MS) {
    const stop = watchCpu({ server: process.pid, load: process.pid });
    await sleep(WINDOW_MS);
    if (stop().others <= OTHERS_MAX) return;
  }
}

/** Measures until other processes did not interfere. If they always do, the least disturbed measurement counts. */
export async function leastDisturbed<Measured>(
  measure: () => Promise<Measured>,
  othersOf: (measured: Measured) => number,
): Promise<Measured> {
  let best = await measure();
  for (let tries = 1; tries < TRIES_MAX && othersOf(best) > OTHERS_MAX; tries += 1) {
    const again = await measure();
    if (othersOf(again) < othersOf(best)) best = again;
  }
  return best;
}
