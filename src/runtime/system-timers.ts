import type { Timers } from './ports.ts';

const after: Timers['after'] = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

/** The machine's clock, which an operator may set: for times of day. */
export const systemTimers: Timers = { now: Date.now, after };

/** Milliseconds since the process began. It never goes back: for durations and rates. */
export const monotonicTimers: Timers = { now: () => performance.now(), after };
