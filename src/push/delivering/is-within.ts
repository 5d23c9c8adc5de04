/** Whether `sinceMs` is less than `ms` ago. A time in the future is from before the clock was set back: no. */
export function isWithin(ms: number, sinceMs: number, nowMs: number): boolean {
  const passedMs = nowMs - sinceMs;
  return passedMs >= 0 && passedMs < ms;
}
