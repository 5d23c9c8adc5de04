/** The longest time ahead for a scheduled publish. */
export const SEND_AHEAD_DAYS_MAX = 30;

export const SEND_AHEAD_MAX_MS = SEND_AHEAD_DAYS_MAX * 86_400_000;

/** `date-time` of RFC 3339: the time and the offset are required. */
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?:Z|([+-])(\d{2}):(\d{2}))$/i;

export type ReadSendAt =
  /** `undefined`: at once. */
  | { readonly ok: true; readonly sendAtMs: number | undefined }
  /** `why` is a predicate, for example `must be a string`. */
  | { readonly ok: false; readonly why: string };

/** Reads when to send a publish. A time in the past means at once. */
export function readSendAt(value: unknown, nowMs: number): ReadSendAt {
  const sendAtMs = typeof value === 'string' ? readDateTime(value) : undefined;
  if (sendAtMs === undefined) {
    return { ok: false, why: 'must be an RFC 3339 time, for example 2030-01-31T12:00:00Z' };
  }
  if (sendAtMs > nowMs + SEND_AHEAD_MAX_MS) {
    return { ok: false, why: `must be at most ${SEND_AHEAD_DAYS_MAX} days ahead` };
  }
  return { ok: true, sendAtMs: sendAtMs > nowMs ? sendAtMs : undefined };
}

function readDateTime(text: string): number | undefined {
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  const [fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = match.slice(7);
  // Leap seconds are refused: system clocks do not have them.
  const isRight =
    day >= 1 &&
    day <= daysIn(year, month) &&
    hour <= 23 &&
    minute <= 59 &&
    second <= 59 &&
    Number(offsetHour) <= 23 &&
    Number(offsetMinute) <= 59;
  if (!isRight) return undefined;
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second) + millisecondsOf(fraction);
  return sign === '-' ? localMs + offsetMs : localMs - offsetMs;
}

/** Whole milliseconds, rounded down. */
function millisecondsOf(fraction: string): number {
  return Number(fraction.slice(1, 4).padEnd(3, '0'));
}

/** 0 if there is no such month. */
function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}
