import type { Timers } from './ports.ts';

const after: Timers['after'] = (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
};

/** The wall clock, which may be set: for times of day. */
export const systemTimers: Timers = { now: Date.now, after };

/** Milliseconds since the process started. They never go back: for durations and rates. */
export const monotonicTimers: Timers = { now: () => performance.now(), after };
