/**
 * Finds the text of a value inside JSON, to pass it on unchanged: parsing and serializing would alter large numbers,
 * repeated keys and escapes.
 *
 * The text must be valid JSON, so call `JSON.parse` first. Nothing here is recursive, so depth costs nothing.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function skipSpace(json: string, from: number): number {
  let at = from;
  // Space, line feed, carriage return, tab.
  for (;;) {
    const code = json.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at++;
  }
}

/** Returns the position after the string that begins at `from`. */
function skipString(json: string, from: number): number {
  let at = from + 1;
  for (; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
  }
  return at;
}

/** Returns the position after the value that begins at `from`. */
function skipValue(json: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < json.length) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = skipString(json, at);
      if (depth === 0) return at;
      continue;
    }
    if (code === OPEN_BRACKET || code === OPEN_BRACE) depth++;
    else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      if (depth === 0) return at;
      depth--;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (code === COMMA || isSpace(code))) return at;
    at++;
  }
  return at;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/**
 * Returns the text of an object's member; `undefined` if there is no such member or the JSON is not an object. If a
 * key is repeated, the last one counts, as in `JSON.parse`.
 *
 * The text has memory of its own. A slice would keep all of the JSON in memory, which may be a thousand times longer.
 */
export function memberText(json: string, key: string): string | undefined {
  let at = skipSpace(json, 0);
  if (json.charCodeAt(at) !== OPEN_BRACE) return undefined;
  let found: string | undefined;
  at = skipSpace(json, at + 1);
  while (json.charCodeAt(at) === QUOTE) {
    const afterKey = skipString(json, at);
    const isTheOne = keyOf(json.slice(at, afterKey)) === key;
    at = skipSpace(json, afterKey);
    if (json.charCodeAt(at) !== COLON) return undefined;
    at = skipSpace(json, at + 1);
    const end = skipValue(json, at);
    if (isTheOne) found = json.slice(at, end);
    at = skipSpace(json, end);
    if (json.charCodeAt(at) !== COMMA) break;
    at = skipSpace(json, at + 1);
  }
  // A copy: what operators and methods of strings make of a slice may refer to the JSON, too.
  return found === undefined ? undefined : structuredClone(found);
}

function keyOf(text: string): string {
  return text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1);
}

/** Returns the texts of an array's elements; none if the JSON is not an array. */
export function elementTexts(json: string): string[] {
  const texts: string[] = [];
  let at = skipSpace(json, 0);
  if (json.charCodeAt(at) !== OPEN_BRACKET) return texts;
  at = skipSpace(json, at + 1);
  while (at < json.length && json.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = skipValue(json, at);
    texts.push(json.slice(at, end));
    at = skipSpace(json, end);
    if (json.charCodeAt(at) !== COMMA) break;
    at = skipSpace(json, at + 1);
  }
  return texts;
}
