/** Time as the sender of webhooks needs it; tests hand in one that does not wait. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls `run` once, after at least `ms`; what it returns prevents that. */
  after(ms: number, run: () => void): () => void;
}

export const systemTimers: Timers = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
