/** A clock that never goes back, and can be asked to call back; what that gives calls it off. */
export interface Timers {
  /** Milliseconds since whenever. */
  now(): number;
  after(delayMs: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  now: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};
