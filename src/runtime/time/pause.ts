import type { Timers } from '../ports.ts';

/** Settles after some time. */
export function pause(timers: Timers, pauseMs: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(pauseMs, resolve);
  });
}
