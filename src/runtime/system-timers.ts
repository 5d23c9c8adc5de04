import type { Timers } from './ports.ts';

/** The only file that sets timers of the runtime: everybody else is given `Timers`. */

const after: Timers['after'] = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

const afterUnlessEnded: Timers['after'] = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
};

/** The wall clock, which may be set: for times of day. */
export const systemTimers: Timers = { now: Date.now, after };

/** Milliseconds since the process started. They never go back: for durations and rates. */
export const monotonicTimers: Timers = { now: () => performance.now(), after };

/** As `monotonicTimers`, but the process may end before such a timer fires: for what nobody stops. */
export const unrefTimers: Timers = { now: monotonicTimers.now, after: afterUnlessEnded };

/** Waits for `work`, but no longer than `maxMs`. Leaves no timer behind. */
export async function withTimeout(maxMs: number, work: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = after(maxMs, late.resolve);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
