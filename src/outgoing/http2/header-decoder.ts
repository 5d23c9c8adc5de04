import { decodeHuffman } from './huffman.ts';
import { FIELD_OVERHEAD_BYTES, FIELD_TABLE_BYTES, staticFields } from './static-fields.ts';

/** What the fields of one answer may take: name, value and 32 each. It is announced to the peer. */
export const HEADER_LIST_BYTES_MAX = 16 * 1024;

/** A number in a header block that is larger than this is no honest one. */
const INTEGER_MAX = 0xff_ffff;

interface Entry {
  readonly name: string;
  readonly value: string;
  readonly bytes: number;
}

const staticEntries: readonly Entry[] = staticFields.map(([name, value]) => entryOf(name, value));

/** What is wrong with a header block. After it, nothing that the peer sends can be read. */
export class HeaderFault extends Error {
  override readonly name = 'HeaderFault';
}

/** Reads the header fields of one connection's answers. Source: RFC 7541. */
export class HeaderDecoder {
  /** The oldest is first. */
  private readonly table: Entry[] = [];
  private tableBytes = 0;
  private tableBytesMax = FIELD_TABLE_BYTES;
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;
  private end = 0;

  /**
   * Reads a whole block: names and values in turn. It must be called for every block in the order that they came
   * in, also where nobody wants the fields. Throws a `HeaderFault`.
   */
  read(bytes: Buffer, start = 0, end = bytes.length): readonly string[] {
    this.bytes = bytes;
    this.at = start;
    this.end = end;
    const fields: string[] = [];
    let listBytes = 0;
    while (this.at < end) {
      const entry = this.readField();
      if (entry === undefined) {
        if (fields.length > 0) throw new HeaderFault('a table size after a field');
        continue;
      }
      listBytes += entry.bytes;
      if (listBytes > HEADER_LIST_BYTES_MAX) throw new HeaderFault('too many header fields');
      fields.push(entry.name, entry.value);
    }
    return fields;
  }

  /** One field, or `undefined` where the block says how large the table is. Source: RFC 7541, 6. */
  private readField(): Entry | undefined {
    const first = this.bytes[this.at] ?? 0;
    if (first >= 0x80) return this.entry(this.readInteger(7));
    if (first >= 0x40) return this.keep(this.readLiteral(6));
    if (first < 0x20) return this.readLiteral(4);
    const size = this.readInteger(5);
    if (size > FIELD_TABLE_BYTES) throw new HeaderFault('a table larger than allowed');
    this.tableBytesMax = size;
    this.makeRoom(0);
    return undefined;
  }

  private readLiteral(prefixBits: number): Entry {
    const index = this.readInteger(prefixBits);
    const name = index === 0 ? this.readString() : this.entry(index).name;
    return entryOf(name, this.readString());
  }

  private entry(index: number): Entry {
    const entry =
      index <= staticEntries.length
        ? staticEntries[index - 1]
        : this.table[this.table.length - (index - staticEntries.length)];
    if (entry === undefined) throw new HeaderFault('an index of no field');
    return entry;
  }

  private keep(entry: Entry): Entry {
    this.makeRoom(entry.bytes);
    // One that is larger than the table only empties it.
    if (entry.bytes <= this.tableBytesMax) {
      this.table.push(entry);
      this.tableBytes += entry.bytes;
    }
    return entry;
  }

  private makeRoom(bytes: number): void {
    while (this.tableBytes + bytes > this.tableBytesMax) {
      const oldest = this.table.shift();
      if (oldest === undefined) return;
      this.tableBytes -= oldest.bytes;
    }
  }

  private readInteger(prefixBits: number): number {
    const full = (1 << prefixBits) - 1;
    let value = this.readByte() & full;
    if (value < full) return value;
    for (let shift = 0; ; shift += 7) {
      const byte = this.readByte();
      value += (byte & 127) * 2 ** shift;
      if (value > INTEGER_MAX || shift > 28) throw new HeaderFault('a number too large');
      if (byte < 128) return value;
    }
  }

  private readString(): string {
    const compressed = ((this.bytes[this.at] ?? 0) & 0x80) !== 0;
    const length = this.readInteger(7);
    const start = this.at;
    this.at += length;
    if (this.at > this.end) throw new HeaderFault('a string longer than its block');
    if (!compressed) return this.bytes.toString('latin1', start, this.at);
    const text = decodeHuffman(this.bytes, start, this.at);
    if (text === undefined) throw new HeaderFault('a string in no known code');
    return text;
  }

  private readByte(): number {
    if (this.at >= this.end) throw new HeaderFault('a block that ends in the middle of a field');
    return this.bytes[this.at++] ?? 0;
  }
}

function entryOf(name: string, value: string): Entry {
  return { name, value, bytes: name.length + value.length + FIELD_OVERHEAD_BYTES };
}
