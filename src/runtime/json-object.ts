/** Any JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON object, and the text that it was read from. */
export interface JsonObjectText {
  readonly object: Record<string, unknown>;
  /** Without the byte order mark, if there was one. */
  readonly text: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads a body that must be a JSON object. */
export function readJsonObject(body: Uint8Array): Record<string, unknown> | undefined {
  return readJsonObjectText(body)?.object;
}

/** Reads a body that must be a JSON object, and keeps its text. */
export function readJsonObjectText(body: Uint8Array): JsonObjectText | undefined {
  const text = decode(body);
  const object = text === undefined ? undefined : parseJsonObject(text);
  return text === undefined || object === undefined ? undefined : { object, text };
}

/** Reads text that must be a JSON object. */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    // Not JSON, or nested deeper than the stack: neither is a JSON object.
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const BRACE = 0x7b;

/**
 * Whether JSON has more than `max` values and field names together; an empty array or object counts twice. Reads each
 * byte once and does not parse, because many values make parsing slow: 1 MB of `[[[` takes 50 times as long as 1 MB of
 * text. For invalid JSON the answer is arbitrary, but `false` still means that parsing is fast.
 */
export function hasMoreValues(body: Uint8Array, max: number): boolean {
  // Each value or name but the first follows one of the four characters below.
  let starts = 1;
  let isInText = false;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (isInText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInText = false;
    } else if (byte === QUOTE) {
      isInText = true;
    } else if (byte === COMMA || byte === COLON || byte === BRACKET || byte === BRACE) {
      starts++;
      if (starts > max) return true;
    }
  }
  return false;
}

function decode(body: Uint8Array): string | undefined {
  try {
    return utf8.decode(body);
  } catch (error) {
    // Not UTF-8.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Whether a JSON value is an object, not an array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a field is present. Libraries send `null` for absent values. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Drops the fields that are `null`, also those of inner objects of the first levels. */
export function withoutNulls(object: JsonObject, levels = 16): JsonObject {
  const kept = Object.entries(object).filter(([, value]) => value !== null);
  const isObject = ([, value]: readonly [string, unknown]) => isJsonObject(value);
  if (kept.length === Object.keys(object).length && !kept.some(isObject)) return object;
  return Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      levels > 0 && isJsonObject(value) ? withoutNulls(value, levels - 1) : value,
    ]),
  );
}
