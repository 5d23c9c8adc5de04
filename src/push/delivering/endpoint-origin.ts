const START = '{"endpoint":"';
const SCHEME_END = '://';

/**
 * The origin of the push service that a browser's token names; empty where it names none. Looks only for its end:
 * devices are registered with tokens that are written in one way, and this runs once for each delivery.
 */
export function endpointOrigin(token: string): string {
  if (!token.startsWith(START)) return '';
  const host = token.indexOf(SCHEME_END, START.length) + SCHEME_END.length;
  if (host < SCHEME_END.length) return '';
  const end = token.indexOf('/', host);
  return end === -1 ? '' : token.slice(START.length, end);
}
