/** How many bits the code of each byte has, and last that of the end of a text. Source: RFC 7541, appendix B. */
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

/** Bits that may fill up the last byte. Source: RFC 7541, 5.2. */
const PADDING_BITS_MAX = 7;

/** What half a byte leads to from each place in the tree: the next place, and with `WRITES` a byte above it. */
const WRITES = 0x1_0000;
const IMPOSSIBLE = 0x2_0000;

/** A place in the tree of codes: where each bit leads, another place or, below zero, a byte found. */
type Place = [zero: number, one: number];

const ROOT = 0;

/**
 * Builds the tree. Codes count upwards, shorter ones first, those of one length in the order of their bytes; so
 * their lengths say all.
 */
function buildTree(): readonly Place[] {
  const places: Place[] = [[ROOT, ROOT]];
  const ordered = CODE_BITS.map((bits, symbol) => ({ bits, symbol })).toSorted(
    (a, b) => a.bits - b.bits || a.symbol - b.symbol,
  );
  let code = 0;
  let length = 0;
  for (const { bits, symbol } of ordered) {
    code <<= bits - length;
    length = bits;
    addCode(places, code, bits, symbol);
    code++;
  }
  return places;
}

function addCode(places: Place[], code: number, bits: number, symbol: number): void {
  let at = ROOT;
  for (let left = bits - 1; left > 0; left--) {
    const place = places[at] ?? [ROOT, ROOT];
    const bit = (code >> left) & 1;
    if (place[bit] === ROOT) {
      place[bit] = places.length;
      places.push([ROOT, ROOT]);
    }
    at = place[bit] ?? ROOT;
  }
  const last = places[at];
  if (last !== undefined) last[code & 1] = -1 - symbol;
}

/** Half a byte is shorter than any code, so it finds one byte at most. */
function buildSteps(places: readonly Place[]): Uint32Array {
  const steps = new Uint32Array(places.length * 16);
  for (const from of places.keys()) {
    for (let half = 0; half < 16; half++) steps[from * 16 + half] = stepFrom(places, from, half);
  }
  return steps;
}

function stepFrom(places: readonly Place[], from: number, half: number): number {
  let at = from;
  let found = 0;
  for (let left = 3; left >= 0; left--) {
    const next = places[at]?.[(half >> left) & 1] ?? ROOT;
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

/** Where a text may end: before any code, or in padding, which is the start of the end's code: ones. */
function findEnds(places: readonly Place[]): ReadonlySet<number> {
  const ends = new Set([ROOT]);
  let at = ROOT;
  for (let bits = 0; bits < PADDING_BITS_MAX; bits++) {
    at = places[at]?.[1] ?? ROOT;
    ends.add(at);
  }
  return ends;
}

const tree = buildTree();
const steps = buildSteps(tree);
const ends = findEnds(tree);

/** Decodes what stands between two places, or gives `undefined` where that is no such code. */
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
