/** Outcomes are stored with it. */
const LENGTH_MAX = 200;

/** No word of a language is this long; tokens, keys and signatures are. */
const SECRET = /[\w+/=~:-]{32,}/g;

/**
 * A peer's error text, safe to store and show: one line of at most 200 printable characters, without anything that may
 * be a token. HTML tags are removed.
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
