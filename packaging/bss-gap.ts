/**
 * Takes out of a compiled program the zeros that Bun puts in front of what it adds: 1.8 MB. Bun makes one segment of the program's
 * data, of its memory that is zero at the start (`.bss`), and of its own section behind them, and so the zeros must be in the
 * file. Here the section gets a segment of its own, at the same address.
 */

/** Of ELF with 64 bits, little endian. https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html */
const MAGIC = 0x464c457f;
const PROGRAM_HEADER_BYTES = 56;
const SECTION_HEADER_BYTES = 64;
const LOAD = 1;
const NOTE = 4;
const READABLE_WRITABLE = 6;

/** Returns the smaller program. Throws if its layout is not the one that Bun makes. */
export function withoutGap(program: Buffer): Buffer {
  if (program.readUInt32LE(0) !== MAGIC) throw new Error('The program is no ELF file');
  const section = (name: string) => {
    const found = sectionsOf(program).find((each) => each.name === name);
    if (found === undefined) throw new Error(`The program has no section ${name}`);
    return found;
  };
  const [zeros, added] = [section('.bss'), section('.bun')];
  const headers = programHeadersOf(program);
  const data = headers.find(({ type, flags }) => type === LOAD && flags === READABLE_WRITABLE);
  // It only tells debuggers which build this is, and no loader needs it.
  const spare = headers.find(({ type }) => type === NOTE);
  if (data === undefined || spare === undefined) throw new Error('A segment is missing');

  const least = zeros.offset + ((added.offset - zeros.offset) % data.alignment);
  const removed = added.offset - least;
  const memoryEnd = zeros.address + zeros.size;
  const isBehind = added.address % data.alignment === 0 && added.address >= memoryEnd;
  const gap = program.subarray(zeros.offset, added.offset);
  if (removed <= 0 || !isBehind || gap.some((byte) => byte !== 0)) {
    throw new Error('The program has another layout than expected');
  }

  const smaller = Buffer.concat([program.subarray(0, least), program.subarray(added.offset)]);
  const addedBytes = data.offset + data.fileBytes - added.offset;
  writeProgramHeader(smaller, {
    ...data,
    fileBytes: zeros.offset - data.offset,
    memoryBytes: memoryEnd - data.address,
  });
  writeProgramHeader(smaller, {
    ...data,
    at: spare.at,
    offset: least,
    address: added.address,
    fileBytes: addedBytes,
    memoryBytes: addedBytes,
  });
  moveSections(smaller, { from: added.offset, removed });
  return smaller;
}

interface ProgramHeader {
  /** Where it is in the file. */
  readonly at: number;
  readonly type: number;
  readonly flags: number;
  readonly offset: number;
  readonly address: number;
  readonly fileBytes: number;
  readonly memoryBytes: number;
  readonly alignment: number;
}

const long = (program: Buffer, at: number): number => Number(program.readBigUInt64LE(at));

function setLong(program: Buffer, at: number, value: number): void {
  program.writeBigUInt64LE(BigInt(value), at);
}

function programHeadersOf(program: Buffer): readonly ProgramHeader[] {
  const first = long(program, 32);
  return Array.from({ length: program.readUInt16LE(56) }, (_, index) => {
    const at = first + index * PROGRAM_HEADER_BYTES;
    return {
      at,
      type: program.readUInt32LE(at),
      flags: program.readUInt32LE(at + 4),
      offset: long(program, at + 8),
      address: long(program, at + 16),
      fileBytes: long(program, at + 32),
      memoryBytes: long(program, at + 40),
      alignment: long(program, at + 48),
    };
  });
}

function writeProgramHeader(program: Buffer, header: ProgramHeader): void {
  const { at } = header;
  program.writeUInt32LE(header.type, at);
  program.writeUInt32LE(header.flags, at + 4);
  setLong(program, at + 8, header.offset);
  setLong(program, at + 16, header.address);
  setLong(program, at + 24, header.address);
  setLong(program, at + 32, header.fileBytes);
  setLong(program, at + 40, header.memoryBytes);
  setLong(program, at + 48, header.alignment);
}

/** Where the headers of sections are, and their number. */
const sectionTable = (program: Buffer, removed = 0) => ({
  first: long(program, 40) - removed,
  count: program.readUInt16LE(60),
});

function sectionsOf(program: Buffer) {
  const { first, count } = sectionTable(program);
  const at = (index: number) => first + index * SECTION_HEADER_BYTES;
  const names = long(program, at(program.readUInt16LE(62)) + 24);
  return Array.from({ length: count }, (_, index) => {
    const start = names + program.readUInt32LE(at(index));
    return {
      name: program.toString('latin1', start, program.indexOf(0, start)),
      address: long(program, at(index) + 16),
      offset: long(program, at(index) + 24),
      size: long(program, at(index) + 32),
    };
  });
}

/** Tells the headers of sections where these are now. Only debuggers read them. */
function moveSections(
  program: Buffer,
  { from, removed }: { readonly from: number; readonly removed: number },
): void {
  const { first, count } = sectionTable(program, removed);
  setLong(program, 40, first);
  for (let index = 0; index < count; index += 1) {
    const at = first + index * SECTION_HEADER_BYTES + 24;
    const offset = long(program, at);
    if (offset >= from) setLong(program, at, offset - removed);
  }
}
