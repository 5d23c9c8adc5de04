/**
 * Control characters (C0, DEL, C1), the marks that change the direction of text, and the separators that some
 * terminals and editors take for the end of a line.
 */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;
const UNPRINTABLE_IN_LINES = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Text of a stranger that can stand in one line of a terminal: what could control it is escaped as `\u009b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** The same for text of several lines: line feeds and tabs stay. Escapes are valid inside JSON strings. */
export function printableLines(text: string): string {
  return text.replace(UNPRINTABLE_IN_LINES, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
