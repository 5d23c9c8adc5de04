/** Code length in bits of each byte value, and of the end marker. Source: RFC 7541, appendix B. */
// biome-ignore format: one row per eight bytes, as in the source
const CODE_BITS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
  28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
  6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
  5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
  15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
  6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
  20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
  24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
  22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
  21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
  26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
  20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
  26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  30,
];

const END = 256;

/** Padding bits in the last byte. Source: RFC 7541, 5.2. */
const PADDING_BITS_MAX = 7;

/** Flags of a step: with `WRITES`, bits 8 to 15 are a decoded byte. The low 8 bits are the next node. */
const WRITES = 0x1_0000;
const IMPOSSIBLE = 0x2_0000;

/** A node of the code tree: for each bit another node or, as -1 - byte, a decoded byte. */
type Node = [zero: number, one: number];

const ROOT = 0;

/**
 * Builds the code tree. The code is canonical: codes are numbered by length and then by byte, so lengths define it.
 */
function buildTree(): readonly Node[] {
  const nodes: Node[] = [[ROOT, ROOT]];
  const ordered = CODE_BITS.map((bits, symbol) => ({ bits, symbol })).toSorted(
    (a, b) => a.bits - b.bits || a.symbol - b.symbol,
  );
  let code = 0;
  let length = 0;
  for (const { bits, symbol } of ordered) {
    code <<= bits - length;
    length = bits;
    addCode(nodes, code, bits, symbol);
    code++;
  }
  return nodes;
}

function addCode(nodes: Node[], code: number, bits: number, symbol: number): void {
  let at = ROOT;
  for (let left = bits - 1; left > 0; left--) {
    const node = nodes[at] ?? [ROOT, ROOT];
    const bit = (code >> left) & 1;
    if (node[bit] === ROOT) {
      node[bit] = nodes.length;
      nodes.push([ROOT, ROOT]);
    }
    at = node[bit] ?? ROOT;
  }
  const last = nodes[at];
  if (last !== undefined) last[code & 1] = -1 - symbol;
}

/**
 * Precomputes the step for each node and half byte. Half a byte is shorter than any code, so it decodes at most one
 * byte.
 */
function buildSteps(nodes: readonly Node[]): Uint32Array {
  const steps = new Uint32Array(nodes.length * 16);
  for (const from of nodes.keys()) {
    for (let half = 0; half < 16; half++) steps[from * 16 + half] = stepFrom(nodes, from, half);
  }
  return steps;
}

function stepFrom(nodes: readonly Node[], from: number, half: number): number {
  let at = from;
  let found = 0;
  for (let left = 3; left >= 0; left--) {
    const next = nodes[at]?.[(half >> left) & 1] ?? ROOT;
    if (next >= 0) {
      at = next;
      continue;
    }
    if (-1 - next === END) return IMPOSSIBLE;
    found = WRITES | ((-1 - next) << 8);
    at = ROOT;
  }
  return found | at;
}

/** Nodes at which a text may end: the root, or padding, which is a prefix of the end marker: all ones. */
function findEnds(nodes: readonly Node[]): ReadonlySet<number> {
  const ends = new Set([ROOT]);
  let at = ROOT;
  for (let bits = 0; bits < PADDING_BITS_MAX; bits++) {
    at = nodes[at]?.[1] ?? ROOT;
    ends.add(at);
  }
  return ends;
}

const tree = buildTree();
const steps = buildSteps(tree);
const ends = findEnds(tree);

/** Decodes the bytes from `start` to `end`; `undefined` if they are no valid code. */
export function decodeHuffman(bytes: Buffer, start: number, end: number): string | undefined {
  // The shortest code has five bits.
  const text = Buffer.allocUnsafe(Math.ceil(((end - start) * 8) / 5));
  let length = 0;
  let at = ROOT;
  for (let index = start; index < end; index++) {
    const byte = bytes[index] ?? 0;
    const first = steps[at * 16 + (byte >> 4)] ?? IMPOSSIBLE;
    if (first >= WRITES) {
      if (first >= IMPOSSIBLE) return undefined;
      text[length++] = first >> 8;
    }
    const second = steps[(first & 0xff) * 16 + (byte & 15)] ?? IMPOSSIBLE;
    if (second >= WRITES) {
      if (second >= IMPOSSIBLE) return undefined;
      text[length++] = second >> 8;
    }
    at = second & 0xff;
  }
  return ends.has(at) ? text.toString('latin1', 0, length) : undefined;
}
