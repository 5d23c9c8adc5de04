/** No gateway means more than this; one whose date is wrong must not hold a notification for years. */
const MS_MAX = 24 * 3600 * 1000;

/** The one form of dates that is still written. Source: RFC 9110, 5.6.7. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** How long a gateway wants to be left alone, by its `Retry-After`: seconds or a date. Source: RFC 9110, 10.2.3. */
export function readRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1000
    : HTTP_DATE.test(text)
      ? Date.parse(text) - nowMs
      : Number.NaN;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MS_MAX);
}
