import type { Timers } from './ports.ts';

const after: Timers['after'] = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

/** The wall clock, which may be set: for times of day. */
export const systemTimers: Timers = { now: Date.now, after };

/** Milliseconds since the process started. They never go back: for durations and rates. */
export const monotonicTimers: Timers = { now: () => performance.now(), after };

/** Waits for `work`, but no longer than `maxMs`. Leaves no timer behind. */
export async function withTimeout(maxMs: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, maxMs);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
}
