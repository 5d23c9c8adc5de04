/** Errors before a connection is made: nothing was sent, so another address may be tried. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'FailedToOpenSocket',
]);

/** Whether a request failed before a connection was made. `why` is the code of its error. */
export function isNotConnected(why: string): boolean {
  return NOT_CONNECTED.has(why);
}
