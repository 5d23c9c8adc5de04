/** What outcomes keep of them. */
const LENGTH_MAX = 200;

/** No word of a language is that long; tokens, keys and signatures are. */
const SECRET = /[\w+/=~:-]{32,}/g;

/**
 * What a gateway says of a failure, fit to be stored and shown: one line of printable text, without what may be a
 * token in it. HTML is left as its text.
 */
export function redactedText(text: string): string {
  return text
    .replace(/<[^>]*>/g, ' ')
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .replace(SECRET, '…')
    .trim()
    .slice(0, LENGTH_MAX)
    .toWellFormed();
}
