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

const LATE = Symbol('late');

/**
 * Waits for `work`, but no longer than `maxMs`: then the result is what `otherwise` returns or throws, if it is given. Leaves
 * no timer behind.
 */
export function withTimeout<Result>(
  maxMs: number,
  work: Promise<Result>,
): Promise<Result | undefined>;
export function withTimeout<Result, Late>(
  maxMs: number,
  work: Promise<Result>,
  otherwise: () => Late,
): Promise<Result | Late>;
export async function withTimeout<Result, Late>(
  maxMs: number,
  work: Promise<Result>,
  otherwise?: () => Late,
): Promise<Result | Late | undefined> {
  const late = Promise.withResolvers<typeof LATE>();
  const cancel = after(maxMs, () => late.resolve(LATE));
  try {
    const first = await Promise.race([work, late.promise]);
    return first === LATE ? otherwise?.() : first;
  } finally {
    cancel();
  }
}
