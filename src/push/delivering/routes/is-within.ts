/** Whether `sinceMs` is less than `ms` ago. `false` for the future, which the clock being set back can leave. */
export function isWithin(ms: number, sinceMs: number, nowMs: number): boolean {
  const passedMs = nowMs - sinceMs;
  return passedMs >= 0 && passedMs < ms;
}
