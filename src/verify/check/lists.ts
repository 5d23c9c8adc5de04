/** Stands for no event, no text and no socket. */
export const NONE = -1;

/** Lists grow by chunks of so many numbers, and are never copied: a copy would need the memory once more. */
const CHUNK_BITS = 14;
const CHUNK = 1 << CHUNK_BITS;
const FIRST_CHUNK = 8;

/** A list of whole numbers that takes 4 bytes for each. What was not set is `NONE`. */
export class Ints {
  length = 0;
  private readonly chunks: Int32Array[] = [];

  get(at: number): number {
    return at < this.length ? (this.chunks[at >> CHUNK_BITS]?.[at & (CHUNK - 1)] ?? NONE) : NONE;
  }

  set(at: number, value: number): void {
    while (this.length <= at) this.push(NONE);
    const chunk = this.chunks[at >> CHUNK_BITS];
    if (chunk !== undefined) chunk[at & (CHUNK - 1)] = value;
  }

  push(value: number): void {
    const number = this.length >> CHUNK_BITS;
    const at = this.length & (CHUNK - 1);
    const known = this.chunks[number];
    const chunk = known === undefined || at === known.length ? this.grow(number) : known;
    chunk[at] = value;
    this.length++;
  }

  pop(): number {
    const last = this.get(this.length - 1);
    this.length--;
    return last;
  }

  get last(): number {
    return this.get(this.length - 1);
  }

  /** Calls back for all that are not `NONE`. Makes no garbage, as an iterator would. */
  each(see: (value: number, at: number) => void): void {
    for (let at = 0; at < this.length; at++) {
      const value = this.get(at);
      if (value !== NONE) see(value, at);
    }
  }

  /** Makes room in a chunk: only the first one begins small. */
  private grow(number: number): Int32Array {
    const before = this.chunks[number] ?? [];
    const isSmall = number === 0 && before.length < CHUNK / 2;
    const chunk = new Int32Array(isSmall ? Math.max(FIRST_CHUNK, 2 * before.length) : CHUNK);
    chunk.set(before);
    this.chunks[number] = chunk;
    return chunk;
  }
}

/** A list of times that takes 8 bytes for each. */
export class Times {
  length = 0;
  private readonly chunks: Float64Array[] = [];

  get(at: number): number {
    return this.chunks[at >> CHUNK_BITS]?.[at & (CHUNK - 1)] ?? 0;
  }

  push(time: number): void {
    const at = this.length++ & (CHUNK - 1);
    if (at === 0) this.chunks.push(new Float64Array(CHUNK));
    const chunk = this.chunks.at(-1);
    if (chunk !== undefined) chunk[at] = time;
  }
}

/** The first of as many places at which something is true, which is then true at all later ones. */
export function firstOf(length: number, isTrue: (at: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Adds to the list that a map has for a key. */
export function addTo<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [value]);
  else known.push(value);
}
