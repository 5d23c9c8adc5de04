import type { Timers } from './channels/ports.ts';

/** The machine's clock. */
export const systemTimers: Timers = {
  now: Date.now,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
