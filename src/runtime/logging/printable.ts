/**
 * Control characters (C0, DEL, C1), bidirectional controls, and the separators that some terminals and editors treat as
 * the end of a line.
 */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;
const UNPRINTABLE_IN_LINES = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Makes untrusted text safe for one line of a terminal: control characters are escaped as `\u009b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** Makes several lines printable: line feeds and tabs stay. The escapes are valid in JSON strings. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE_IN_LINES, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
