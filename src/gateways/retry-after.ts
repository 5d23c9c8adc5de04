/** Longest pause that is believed: a gateway with a wrong clock must not delay a notification for years. */
const MS_MAX = 24 * 3600 * 1000;

/** The only date format still in use. Source: RFC 9110, 5.6.7. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The pause in milliseconds that `Retry-After` asks for, in seconds or as a date. Source: RFC 9110, 10.2.3. */
export function readRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  const isSeconds = /^\d+$/.test(text);
  if (!isSeconds && !HTTP_DATE.test(text)) return undefined;
  const ms = isSeconds ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MS_MAX);
}
