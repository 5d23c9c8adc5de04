import { ERROR, ProtocolFault } from '../frames/protocol.ts';
import { decodeHuffman } from './huffman.ts';
import { FIELD_OVERHEAD_BYTES, FIELD_TABLE_BYTES, staticFields } from './static-fields.ts';

/** Size limit of an answer's header fields: name, value and 32 bytes each. It is announced to the peer. */
export const HEADER_LIST_BYTES_MAX = 16 * 1024;

/** No honest number in a header block is larger. */
const INTEGER_MAX = 0xff_ffff;

interface Entry {
  readonly name: string;
  readonly value: string;
  readonly bytes: number;
}

const staticEntries: readonly Entry[] = staticFields.map(([name, value]) => entryOf(name, value));

function fault(message: string): ProtocolFault {
  return new ProtocolFault(ERROR.compressionError, message);
}

/** Reads the header fields of one connection's answers. Source: RFC 7541. */
export class HeaderDecoder {
  /** The oldest first. */
  private readonly table: Entry[] = [];
  private tableBytes = 0;
  private tableBytesMax = FIELD_TABLE_BYTES;
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;

  /**
   * Decodes a whole block into names, each followed by its value. It must be called for every block in the order of
   * arrival, even if the fields are not needed. Throws a `ProtocolFault`.
   */
  read(block: Buffer): readonly string[] {
    this.bytes = block;
    this.at = 0;
    const fields: string[] = [];
    let listBytes = 0;
    while (this.at < block.length) {
      const entry = this.readField();
      if (entry === undefined) {
        if (fields.length > 0) throw fault('table size update after a field');
        continue;
      }
      listBytes += entry.bytes;
      if (listBytes > HEADER_LIST_BYTES_MAX) throw fault('too many header fields');
      fields.push(entry.name, entry.value);
    }
    return fields;
  }

  /** One field, or `undefined` for a table size update. Source: RFC 7541, 6. */
  private readField(): Entry | undefined {
    const first = this.bytes[this.at] ?? 0;
    if (first >= 0x80) return this.entry(this.readInteger(7));
    if (first >= 0x40) return this.keep(this.readLiteral(6));
    if (first < 0x20) return this.readLiteral(4);
    const size = this.readInteger(5);
    if (size > FIELD_TABLE_BYTES) throw fault('table larger than allowed');
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
    if (entry === undefined) throw fault('index without a field');
    return entry;
  }

  private keep(entry: Entry): Entry {
    this.makeRoom(entry.bytes);
    // An entry larger than the table only empties it.
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
      if (value > INTEGER_MAX || shift > 28) throw fault('number too large');
      if (byte < 128) return value;
    }
  }

  private readString(): string {
    const compressed = ((this.bytes[this.at] ?? 0) & 0x80) !== 0;
    const length = this.readInteger(7);
    const start = this.at;
    this.at += length;
    if (this.at > this.bytes.length) throw fault('string longer than its block');
    if (!compressed) return this.bytes.toString('latin1', start, this.at);
    const text = decodeHuffman(this.bytes, start, this.at);
    if (text === undefined) throw fault('invalid Huffman code');
    return text;
  }

  private readByte(): number {
    const byte = this.bytes[this.at++];
    if (byte === undefined) throw fault('block ends within a field');
    return byte;
  }
}

function entryOf(name: string, value: string): Entry {
  return { name, value, bytes: name.length + value.length + FIELD_OVERHEAD_BYTES };
}
