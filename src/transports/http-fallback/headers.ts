/** Lets pages of any site read an answer. The path is the secret, and no credentials are involved. */
export const OPEN_TO_ALL = { 'access-control-allow-origin': '*' };

/**
 * Of every answer to a receive request. Without `nosniff` Chromium waits for enough bytes to guess the type, and a stream
 * never opens. Source: HTTP transports, §3.
 */
export const ANSWER_HEADERS = new Headers({
  ...OPEN_TO_ALL,
  'content-type': 'application/javascript; charset=UTF-8',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store, no-transform',
  // nginx would collect the lines.
  'x-accel-buffering': 'no',
});

/** Every request of a page has a preflight of its own, since no two have the same address. */
export const PREFLIGHT_HEADERS = new Headers({
  ...OPEN_TO_ALL,
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'content-type',
  'access-control-max-age': '86400',
});
