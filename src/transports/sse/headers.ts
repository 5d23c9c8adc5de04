/** Lets pages of any site read: what a request may read is in its address. */
export const OPEN_TO_ALL = { 'access-control-allow-origin': '*' };

export const STREAM_HEADERS = new Headers({
  ...OPEN_TO_ALL,
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would collect the events.
  'x-accel-buffering': 'no',
});

export const PREFLIGHT_HEADERS = new Headers({
  ...OPEN_TO_ALL,
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': 'last-event-id, authorization, cache-control',
  'access-control-max-age': '86400',
});
