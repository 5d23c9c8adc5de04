/** Path and query of a request, exactly as they were sent, because they are signed. */
export interface RequestTarget {
  /** Begins with a slash. */
  readonly path: string;
  /** Without the question mark. May contain a `#`, which Go sends unescaped. */
  readonly query: string;
}

/** Splits the URL of a request. Bun's `url` is the path alone if the request has no usable `Host`. */
export function requestTarget(url: string): RequestTarget {
  const scheme = url.indexOf('://');
  const slash = url.indexOf('/', scheme < 0 || url.startsWith('/') ? 0 : scheme + 3);
  const target = slash < 0 ? '/' : url.slice(slash);
  const question = target.indexOf('?');
  return question < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, question), query: target.slice(question + 1) };
}

/** The limit of parameters in a query: those of an event with 100 `channels[]`, and of its signature. */
export const PARAMETERS_MAX = 128;

/** Whether a raw query has more parameters than a request may have. Does not parse the query. */
export function hasTooManyParameters(query: string): boolean {
  let parameters = 1;
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) {
    parameters++;
    if (parameters > PARAMETERS_MAX) return true;
  }
  return false;
}

/** Makes one slash of several at the start of a path: a base address may end with one. */
export function withOneSlash(path: string): string {
  return path.startsWith('//') ? path.replace(/^\/+/, '/') : path;
}

/** Removes the configured prefix from a path, unless a proxy has removed it already. */
export function withoutPrefix(path: string, prefix: string): string {
  return prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}

/**
 * Decodes percent-encoding, and leaves sequences that are not UTF-8 as they are. Strangers choose the text, so this makes one
 * pass and throws nothing: a thousand exceptions of `decodeURIComponent` would take milliseconds.
 */
export function decodeLeniently(text: string): string {
  if (!text.includes('%')) return text;
  // Decoded text is never longer.
  const units = new Uint16Array(text.length);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const end = endOfRun(text, at);
    const decoded = end === at ? undefined : decodeRun({ text, at, end }, units, length);
    if (decoded !== undefined) {
      length = decoded;
      at = end;
      continue;
    }
    // Not every client escapes, so a lone percent sign stands for itself.
    do units[length++] = text.charCodeAt(at++);
    while (at < end);
  }
  return Buffer.from(units.buffer, 0, length * 2).toString('utf16le');
}

const PERCENT = 0x25;

/** Returns the end of the run of percent sequences that starts at `at`; `at` if there is none. */
function endOfRun(text: string, at: number): number {
  let end = at;
  while (
    text.charCodeAt(end) === PERCENT &&
    isHexDigit(text.charCodeAt(end + 1)) &&
    isHexDigit(text.charCodeAt(end + 2))
  ) {
    end += 3;
  }
  return end;
}

/** Adjacent percent sequences, not cut out of the text, because that would cost more than decoding them. */
interface Run {
  readonly text: string;
  readonly at: number;
  readonly end: number;
}

/** Writes the UTF-16 of a run; returns where that ends, or `undefined` if the run is not UTF-8. */
function decodeRun(run: Run, units: Uint16Array, start: number): number | undefined {
  const { text, end } = run;
  let length = start;
  let missing = 0;
  let point = 0;
  // The range of the next byte within a character. Source: RFC 3629, section 4.
  let least = 0x80;
  let most = 0xbf;
  for (let { at } = run; at < end; at += 3) {
    const byte = hexValue(text.charCodeAt(at + 1)) * 16 + hexValue(text.charCodeAt(at + 2));
    if (missing === 0) {
      if (byte < 0x80) {
        units[length++] = byte;
        continue;
      }
      if (byte < 0xc2 || byte > 0xf4) return undefined;
      missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      point = byte & (0x3f >> missing);
      least = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
      most = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
      continue;
    }
    if (byte < least || byte > most) return undefined;
    least = 0x80;
    most = 0xbf;
    point = (point << 6) | (byte & 0x3f);
    missing--;
    if (missing > 0) continue;
    if (point > 0xffff) {
      units[length++] = 0xd7c0 + (point >> 10);
      units[length++] = 0xdc00 | (point & 0x3ff);
    } else {
      units[length++] = point;
    }
  }
  return missing === 0 ? length : undefined;
}

function isHexDigit(code: number): boolean {
  const lower = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

function hexValue(digit: number): number {
  return (digit & 0xf) + (digit > 0x39 ? 9 : 0);
}
