import { OutBuffer } from '../frames/out-buffer.ts';
import { FIELD_OVERHEAD_BYTES, staticFieldIndex, staticNameIndex } from './static-fields.ts';

/** A header field of a request, encoded as far as possible in advance. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** Whether it enters the dynamic table, so that only the first request of a connection sends it in full. */
  readonly kept: boolean;
  /** Unique for name and value. */
  readonly key: string;
  /** Index in the static table, or 0. */
  readonly staticIndex: number;
  /** Index of its name in the static table, or 0. */
  readonly nameIndex: number;
  /** The encoded value, after the encoded name if the static table has none. */
  readonly literal: Buffer;
  /** The size of the field in the dynamic table. */
  readonly tableBytes: number;
}

/** Bytes of a length or an index. */
export const INTEGER_BYTES_MAX = 5;

const NAME = /^:?[a-z0-9!#$%&'*+.^_`|~-]+$/;
/** Printable ASCII, which every implementation reads the same way. */
const VALUE = /^[\x20-\x7e]*$/;

/** A field that rarely changes: each connection keeps it. Throws if it is not valid: callers check untrusted values. */
export function keptField(name: string, value: string): HeaderField {
  return makeField(name, value, true);
}

/** A field that differs between requests: it is sent in full each time. */
export function plainField(name: string, value: string): HeaderField {
  return makeField(name, value, false);
}

/** Whether a text may be the value of a header field. */
export function isFieldValue(text: string): boolean {
  return VALUE.test(text);
}

function makeField(name: string, value: string, kept: boolean): HeaderField {
  // The value may be a secret, so the error does not quote it.
  if (!NAME.test(name) || !VALUE.test(value)) throw new TypeError(`not a header field: ${name}`);
  const nameIndex = staticNameIndex(name);
  const out = new OutBuffer(name.length + value.length + 2 * INTEGER_BYTES_MAX);
  if (nameIndex === 0) writeText(out, name);
  writeText(out, value);
  return {
    name,
    value,
    kept,
    key: `${name}\n${value}`,
    staticIndex: staticFieldIndex(name, value),
    nameIndex,
    literal: Buffer.concat(out.take()),
    tableBytes: name.length + value.length + FIELD_OVERHEAD_BYTES,
  };
}

/** Writes a string literal without Huffman coding. Source: RFC 7541, 5.2. */
function writeText(out: OutBuffer, text: string): void {
  out.integer(0, 7, text.length);
  out.latin1(text);
}
