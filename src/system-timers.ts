import type { Clock, Timers } from './channels/ports.ts';

/** The machine's clock. */
export const systemTimers: Timers = {
  now: Date.now,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** A clock that is never set: for how long something took, and for rates. Milliseconds since the process began. */
export const monotonicClock: Clock = { now: () => performance.now() };
