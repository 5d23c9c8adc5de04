/** How far ahead a publish may be scheduled. */
const SEND_AHEAD_DAYS_MAX = 30;

const DAY_MS = 86_400_000;

/** RFC 3339, `date-time`: a date without a time, or a time without an offset, names no moment. */
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(\.\d{1,9})?(?:Z|([+-])(\d{2}):(\d{2}))$/i;

export type ReadSendAt =
  /** `undefined`: at once. */
  | { readonly ok: true; readonly sendAtMs: number | undefined }
  /** It completes a sentence that begins with the field. */
  | { readonly ok: false; readonly why: string };

/** Reads when a publish is to go out. What has passed goes out at once. */
export function readSendAt(value: unknown, nowMs: number): ReadSendAt {
  const sendAtMs = typeof value === 'string' ? readDateTime(value) : undefined;
  if (sendAtMs === undefined) {
    return { ok: false, why: 'must be a time of RFC 3339, as 2030-01-31T12:00:00Z' };
  }
  if (sendAtMs > nowMs + SEND_AHEAD_DAYS_MAX * DAY_MS) {
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
  // A leap second is refused: none is announced any more, and no clock here has one.
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

/** Whole milliseconds; what is finer is cut off. */
function millisecondsOf(fraction: string): number {
  return Number(fraction.slice(1, 4).padEnd(3, '0'));
}

/** 0 where there is no such month. */
function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}
