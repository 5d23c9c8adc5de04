import { setTimeout as sleep } from 'node:timers/promises';
import { OTHERS_MAX, watchCpu } from './cpu-usage.ts';

const WINDOW_MS = 500;
const WITHIN_MS = 30_000;

/** How often something is measured because others used the machine. */
const TRIES_MAX = 3;

/** Waits for a moment in which nobody uses this machine, but not for long. To be called while what is measured rests. */
export async function quiet(): Promise<void> {
  for (let waitedMs = 0; waitedMs < WITHIN_MS; waitedMs += WINDOW_MS) {
    const stop = watchCpu({ server: process.pid, load: process.pid });
    await sleep(WINDOW_MS);
    if (stop().others <= OTHERS_MAX) return;
  }
}

/** Measures until others left the machine alone; where they never do, what they disturbed least counts. */
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
