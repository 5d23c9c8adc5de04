const MASK = '***';

/**
 * A URL without its secrets, as in `https://***@host/path?token=***`. User, password, query values and fragment are
 * replaced; scheme, host, path and query names stay. Text that is no URL is replaced as a whole.
 */
export function redactedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return MASK;
  const { protocol, username, password, host, pathname, search, hash } = url;
  // User and password were percent-encoded as a whole, or are in the path.
  if (/%40/.test(host) || (host === '' && pathname.includes('@'))) return MASK;
  // Nothing to hide: the text stays as it was written.
  if (username === '' && password === '' && search === '' && hash === '') return text;
  const user = username === '' && password === '' ? '' : `${MASK}@`;
  const fragment = hash === '' ? '' : `#${MASK}`;
  const slashes = text.startsWith('//', protocol.length) || host !== '' ? '//' : '';
  return `${protocol}${slashes}${user}${host}${pathname}${redactedQuery(search)}${fragment}`;
}

/**
 * Redacts every URL within a text, such as a library's error message. Everything between `//` and the last `@` of a word
 * is replaced, because a badly encoded password may look like a port and a path.
 */
export function redactUrls(text: string): string {
  return text
    .replace(/\S+/g, withoutUser)
    .replace(/(?<![a-z\d+.-])[a-z][a-z\d+.-]*:\/\/[^\s"'<>]+/gi, (url) =>
      /[?#]/.test(url) ? redactedUrl(url) : url,
    );
}

/** Takes linear time, because untrusted text is logged. */
function withoutUser(word: string): string {
  const slashes = /:\/+|\/\/+/.exec(word);
  if (slashes === null) return word;
  const start = slashes.index + slashes[0].length;
  // `%40` is an `@` that was encoded with the password.
  const end = Math.max(word.lastIndexOf('@') + '@'.length, word.lastIndexOf('%40') + '%40'.length);
  return end > start ? `${word.slice(0, start)}${MASK}@${word.slice(end)}` : word;
}

/** Whether a text is a redacted URL. */
export function isRedactedUrl(text: string): boolean {
  return text.includes(MASK) && redactedUrl(text) === text;
}

function redactedQuery(search: string): string {
  if (search === '') return '';
  return `?${search.slice(1).split('&').map(redactedPart).join('&')}`;
}

/** A part without a value may itself be a secret; base64 may end with `=`. */
function redactedPart(part: string): string {
  return /^[^=]*=*$/.test(part) ? MASK : part.replace(/=.*/s, `=${MASK}`);
}

/** Outcomes are stored with it. */
const LENGTH_MAX = 200;

/** No word of a language is this long, but tokens, keys and signatures are. */
const SECRET = /[\w+/=~:-]{32,}/g;

/** Without `<` inside: it would take quadratic time for a text of many. */
const TAG = /<[^<>]*>/g;

/**
 * A peer's error text, safe to store and show: one line of at most 200 printable characters, without anything that may
 * be a token. HTML tags are removed. Takes linear time.
 */
export function redactedText(text: string): string {
  return text
    .replace(TAG, ' ')
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .replace(SECRET, '…')
    .trim()
    .slice(0, LENGTH_MAX)
    .toWellFormed();
}
