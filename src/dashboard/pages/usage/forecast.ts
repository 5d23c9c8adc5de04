const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Messages of an hour that count against the quota. */
export interface CountedHour {
  readonly startMs: number;
  readonly messages: number;
}

/** A forecast of the use of a daily quota. */
export interface Forecast {
  /** Messages at midnight UTC, at the pace of the present and the previous hour. */
  readonly atMidnight: number;
  /** When the quota is used up at this pace; `undefined`: not today. */
  readonly usedUpAtMs: number | undefined;
  /** The time by which the pace was measured. */
  readonly paceMs: number;
}

/** Foretells the messages of today. `undefined`: nothing is known of this hour yet. */
export function forecast(
  hours: readonly CountedHour[],
  { used, quota, nowMs }: { readonly used: number; readonly quota: number; readonly nowMs: number },
): Forecast | undefined {
  const thisHourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const recent = hours.filter(({ startMs }) => startMs >= thisHourMs - HOUR_MS);
  const firstMs = Math.min(...recent.map(({ startMs }) => startMs));
  const paceMs = nowMs - firstMs;
  if (recent.length === 0 || paceMs <= 0) return undefined;
  const pace = recent.reduce((sum, { messages }) => sum + messages, 0) / paceMs;
  const midnightMs = Math.floor(nowMs / DAY_MS) * DAY_MS + DAY_MS;
  const usedUpAtMs = nowMs + Math.max(0, quota - used) / pace;
  return {
    atMidnight: Math.round(used + pace * (midnightMs - nowMs)),
    usedUpAtMs: usedUpAtMs < midnightMs ? usedUpAtMs : undefined,
    paceMs,
  };
}
