const START = '{"endpoint":"';
const SCHEME_END = '://';

/**
 * Returns the origin of the push service in a browser's token, or an empty text if there is none. It does not parse the
 * token, because it runs for each delivery, and registration writes all tokens in the same form.
 */
export function endpointOrigin(token: string): string {
  if (!token.startsWith(START)) return '';
  const host = token.indexOf(SCHEME_END, START.length) + SCHEME_END.length;
  if (host < SCHEME_END.length) return '';
  const end = token.indexOf('/', host);
  return end === -1 ? '' : token.slice(START.length, end);
}
