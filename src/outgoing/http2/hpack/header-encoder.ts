import { OutBuffer } from '../frames/out-buffer.ts';
import { type HeaderField, INTEGER_BYTES_MAX, plainField } from './header-field.ts';
import { FIELD_TABLE_BYTES, staticFields, staticNameIndex } from './static-fields.ts';

/** The first bits of each field representation, and how many bits are left for a number. Source: RFC 7541, 6. */
const INDEXED = [0x80, 7] as const;
const KEPT = [0x40, 6] as const;
const TABLE_SIZE = [0x20, 5] as const;
const PLAIN = [0x00, 4] as const;

const FIRST_DYNAMIC = staticFields.length + 1;
const PATH = staticNameIndex(':path');
const CONTENT_LENGTH = staticNameIndex('content-length');

/** Upper bound of what is written besides fields and path. */
const OWN_BYTES = 48;

/** Upper bound of the header bytes of a request with these fields and this path. */
export function headerBytesMax(fields: readonly HeaderField[], path: string): number {
  let bytes = OWN_BYTES + path.length;
  for (const field of fields) bytes += field.literal.length + INTEGER_BYTES_MAX;
  return bytes;
}

/**
 * Encodes the header fields of one connection's requests. Kept fields enter the dynamic table, so from the second
 * request on they take one byte. Source: RFC 7541.
 */
export class HeaderEncoder {
  private readonly out: OutBuffer;
  /** By key of a field in the table: how many fields were inserted before it. */
  private readonly positions = new Map<string, number>();
  private readonly entries: HeaderField[] = [];
  private inserted = 0;
  private tableBytes = 0;
  private tableBytesMax = FIELD_TABLE_BYTES;
  private sizeChanged = false;

  constructor(out: OutBuffer) {
    this.out = out;
  }

  /** Limits the table to what the peer accepts. It never grows again: that would gain little. */
  limitTable(bytes: number): void {
    if (bytes >= this.tableBytesMax) return;
    this.tableBytesMax = bytes;
    this.sizeChanged = true;
    this.makeRoom(0);
  }

  /** Writes the fields of one request. `headerBytesMax` bytes must have been reserved. */
  write(
    pseudoFields: readonly HeaderField[],
    fields: readonly HeaderField[],
    path: string,
    bodyBytes: number,
  ): void {
    const { out } = this;
    if (this.sizeChanged) {
      this.sizeChanged = false;
      out.integer(...TABLE_SIZE, this.tableBytesMax);
    }
    out.integer(...PLAIN, PATH);
    out.integer(0, 7, path.length);
    out.latin1(path);
    for (const field of pseudoFields) this.writeField(field);
    for (const field of fields) this.writeField(field);
    const length = String(bodyBytes);
    out.integer(...PLAIN, CONTENT_LENGTH);
    out.byte(length.length);
    out.latin1(length);
  }

  private writeField(field: HeaderField): void {
    const { out } = this;
    if (field.staticIndex > 0) return out.integer(...INDEXED, field.staticIndex);
    // A field larger than the table would only empty it.
    if (!field.kept || field.tableBytes > this.tableBytesMax) {
      out.integer(...PLAIN, field.nameIndex);
      return out.bytes(field.literal);
    }
    const position = this.positions.get(field.key);
    if (position !== undefined) {
      return out.integer(...INDEXED, FIRST_DYNAMIC + this.inserted - 1 - position);
    }
    out.integer(...KEPT, field.nameIndex);
    out.bytes(field.literal);
    this.keep(field);
  }

  private keep(field: HeaderField): void {
    this.makeRoom(field.tableBytes);
    this.entries.push(field);
    this.positions.set(field.key, this.inserted++);
    this.tableBytes += field.tableBytes;
  }

  /** The oldest go first. */
  private makeRoom(bytes: number): void {
    while (this.tableBytes + bytes > this.tableBytesMax) {
      const oldest = this.entries.shift();
      if (oldest === undefined) return;
      this.positions.delete(oldest.key);
      this.tableBytes -= oldest.tableBytes;
    }
  }
}

/** Encodes header fields without the dynamic table, so the block is the same for every connection. */
export function plainBlock(fields: Readonly<Record<string, string>>): Buffer {
  const list = Object.entries(fields).map(([name, value]) => plainField(name, value));
  const out = new OutBuffer(headerBytesMax(list, ''));
  for (const { nameIndex, literal } of list) {
    out.integer(...PLAIN, nameIndex);
    out.bytes(literal);
  }
  return Buffer.concat(out.take());
}
