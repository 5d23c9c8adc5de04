/** What a stop may take with the default settings, from the end of the stop delay to the exit: `docker stop` kills after 10 s. Milliseconds. */
const STOP_MS = 9_500;

/** What it may take beyond the drain time. Milliseconds. */
const REST_MS = 1_500;

/** The time of all steps of a stop together. Before `begin`, each step may take as long as it says. */
export class StopTime {
  private untilMs = Number.POSITIVE_INFINITY;

  begin(drainSeconds: number): void {
    this.untilMs = performance.now() + Math.max(STOP_MS, drainSeconds * 1000 + REST_MS);
  }

  /** The time that a step may take, which are `maxMs` at most. */
  left(maxMs: number): number {
    return Math.max(0, Math.min(maxMs, this.untilMs - performance.now()));
  }
}
