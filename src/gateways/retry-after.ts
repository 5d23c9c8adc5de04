/** Longest pause that is believed: a gateway with a wrong clock must not delay a notification for years. */
const MS_MAX = 24 * 3600 * 1000;

/** The only date format still in use. Source: RFC 9110, 5.6.7. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The pause in milliseconds that `Retry-After` asks for, in seconds or as a date. Source: RFC 9110, 10.2.3. */
export function readRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1000
    : HTTP_DATE.test(text)
      ? Date.parse(text) - nowMs
      : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MS_MAX);
}
