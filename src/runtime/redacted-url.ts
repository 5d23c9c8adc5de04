/** What stands in place of a secret. */
const MASK = '***';

/**
 * A URL as people may see it: what may be a secret in it is replaced, as in `https://***@host/path?token=***`. User and
 * password, the values of the query and the fragment may be; scheme, host, path and names are not. Text that is no URL
 * is replaced as a whole.
 */
export function redactedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return MASK;
  const { protocol, username, password, host, pathname, search, hash } = url;
  // A name and password that were encoded whole, or are not where the standard looks for them.
  if (/%40/.test(host) || (host === '' && pathname.includes('@'))) return MASK;
  // Nothing to hide: shown as it was written.
  if (username === '' && password === '' && search === '' && hash === '') return text;
  const user = username === '' && password === '' ? '' : `${MASK}@`;
  const fragment = hash === '' ? '' : `#${MASK}`;
  const slashes = text.startsWith('//', protocol.length) || host !== '' ? '//' : '';
  return `${protocol}${slashes}${user}${host}${pathname}${shownQuery(search)}${fragment}`;
}

/**
 * Text with every URL in it as people may see it: an error of a library, or what somebody gave as a URL that is none.
 * All that stands between `//` and the last `@` of a word is hidden: a password that is not encoded as it should be
 * may look like a port and a path.
 */
export function redactUrls(text: string): string {
  return text
    .replace(/\S+/g, withoutUser)
    .replace(/(?<![a-z\d+.-])[a-z][a-z\d+.-]*:\/\/[^\s"'<>]+/gi, (url) =>
      /[?#]/.test(url) ? redactedUrl(url) : url,
    );
}

/** Strangers write into the log, so this takes no longer than the word is long. */
function withoutUser(word: string): string {
  const slashes = /:\/+|\/\/+/.exec(word);
  if (slashes === null) return word;
  const start = slashes.index + slashes[0].length;
  // `%40` is an `@` that was encoded along with the password.
  const end = Math.max(word.lastIndexOf('@') + '@'.length, word.lastIndexOf('%40') + '%40'.length);
  return end > start ? `${word.slice(0, start)}${MASK}@${word.slice(end)}` : word;
}

/** Whether a URL was shown so, and is not the whole one. */
export function isRedactedUrl(text: string): boolean {
  return text.includes(MASK) && redactedUrl(text) === text;
}

function shownQuery(search: string): string {
  if (search === '') return '';
  return `?${search.slice(1).split('&').map(shownPart).join('&')}`;
}

/** A part without a value may be a secret alone, and base64 ends with `=`. */
function shownPart(part: string): string {
  return /^[^=]*=*$/.test(part) ? MASK : part.replace(/=.*/s, `=${MASK}`);
}
