import { FIELD_OVERHEAD_BYTES, staticFieldIndex, staticNameIndex } from './static-fields.ts';

/** A header field of a request, with all that can be worked out before it is sent. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Whether a connection keeps it, so that only the first request sends it in full: for what hardly changes. */
  readonly kept: boolean;
  /** Different for different fields. */
  readonly key: string;
  /** Where the static table has it, or 0. */
  readonly staticIndex: number;
  /** Where the static table has its name, or 0. */
  readonly nameIndex: number;
  /** Name, where the table has none, and value. */
  readonly literal: Buffer;
  /** What it takes in a table of fields. */
  readonly tableBytes: number;
}

const NAME = /^:?[a-z0-9!#$%&'*+.^_`|~-]+$/;
/** Only what nobody reads in two ways. */
const VALUE = /^[\x20-\x7e]*$/;

/** A field that each connection keeps. Throws where it could not be sent: callers check what others gave. */
export function keptField(name: string, value: string): HeaderField {
  return makeField(name, value, true);
}

/** A field that is sent in full each time: for what is different from request to request. */
export function plainField(name: string, value: string): HeaderField {
  return makeField(name, value, false);
}

/** Whether a text can be the value of a header field. */
export function isFieldValue(text: string): boolean {
  return VALUE.test(text);
}

function makeField(name: string, value: string, kept: boolean): HeaderField {
  // The value may be a secret, so the error has none of it.
  if (!NAME.test(name) || !VALUE.test(value)) throw new TypeError(`no header field: ${name}`);
  const nameIndex = staticNameIndex(name);
  const written = stringBytes(value);
  return {
    name,
    value,
    kept,
    key: `${name}\n${value}`,
    staticIndex: staticFieldIndex(name, value),
    nameIndex,
    literal: nameIndex === 0 ? Buffer.concat([stringBytes(name), written]) : written,
    tableBytes: name.length + value.length + FIELD_OVERHEAD_BYTES,
  };
}

/** A string with its length in front, not compressed. Source: RFC 7541, 5.2. */
function stringBytes(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from(integerBytes(bytes.length, 7)), bytes]);
}

/** A number of which the first byte has so many bits. Source: RFC 7541, 5.1. */
function integerBytes(value: number, prefixBits: number): readonly number[] {
  const full = (1 << prefixBits) - 1;
  if (value < full) return [value];
  const bytes = [full];
  let rest = value - full;
  while (rest >= 128) {
    bytes.push((rest & 127) | 128);
    rest >>= 7;
  }
  return [...bytes, rest];
}
