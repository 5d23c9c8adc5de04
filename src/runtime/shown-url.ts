/** What stands in place of a secret. */
const MASK = '***';

/**
 * A URL as people may see it: what may be a secret in it is replaced, as in `https://***@host/path?token=***`. User and
 * password, the values of the query and the fragment may be; scheme, host, path and names are not. Text that is no URL
 * is replaced as a whole.
 */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return MASK;
  const { protocol, username, password, host, pathname, search, hash } = url;
  // Nothing to hide: shown as it was written.
  if (username === '' && password === '' && search === '' && hash === '') return text;
  const user = username === '' && password === '' ? '' : `${MASK}@`;
  const fragment = hash === '' ? '' : `#${MASK}`;
  return `${protocol}//${user}${host}${pathname}${shownQuery(search)}${fragment}`;
}

/** Whether a URL was shown so, and is not the whole one. */
export function isShownUrl(text: string): boolean {
  return text.includes(MASK) && shownUrl(text) === text;
}

function shownQuery(search: string): string {
  if (search === '') return '';
  return `?${search.slice(1).split('&').map(shownPart).join('&')}`;
}

/** A part without a value may be a secret alone, and base64 ends with `=`. */
function shownPart(part: string): string {
  return /^[^=]*=*$/.test(part) ? MASK : part.replace(/=.*/s, `=${MASK}`);
}
