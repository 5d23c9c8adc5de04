import { hash } from 'bun';

/** The limit of names. Each takes 12 bytes. */
const NAMES_MAX = 65_536;

/** A place is searched in this many neighbours. */
const LOOKED_MAX = 64;

const FREE = 0n;

/**
 * Counts by name that several loops of a process share: each sees at once what the others have counted. A name keeps its
 * place until the process ends. Names beyond the first 65,536 have no shared count.
 */
export class SharedCounts {
  /** The hash of the name that has each place. */
  private readonly names: BigUint64Array<SharedArrayBuffer>;
  private readonly counts: Int32Array<SharedArrayBuffer>;
  /** Places that were looked up before. */
  private readonly places = new Map<string, number>();

  /** `memory` has been made with `shareCounts`. */
  constructor(memory: SharedArrayBuffer) {
    this.names = new BigUint64Array(memory, 0, NAMES_MAX);
    this.counts = new Int32Array(memory, NAMES_MAX * BigUint64Array.BYTES_PER_ELEMENT);
  }

  /** Returns the count of all loops; `undefined` if the name has no shared count. */
  of(name: string): number | undefined {
    const place = this.placeOf(name);
    return place === undefined ? undefined : Atomics.load(this.counts, place);
  }

  add(name: string, by: number): void {
    const place = this.placeOf(name);
    if (place !== undefined) Atomics.add(this.counts, place, by);
  }

  private placeOf(name: string): number | undefined {
    const known = this.places.get(name);
    if (known !== undefined) return known;
    const place = this.search(name);
    if (place !== undefined) this.places.set(name, place);
    return place;
  }

  private search(name: string): number | undefined {
    const wanted = BigInt(hash.wyhash(name)) || 1n;
    const first = Number(wanted % BigInt(NAMES_MAX));
    for (let looked = 0; looked < LOOKED_MAX; looked++) {
      const place = (first + looked) % NAMES_MAX;
      const holder = Atomics.compareExchange(this.names, place, FREE, wanted);
      if (holder === FREE || holder === wanted) return place;
    }
    return undefined;
  }
}

/** Makes the memory for such counts. */
export function shareCounts(): SharedArrayBuffer {
  return new SharedArrayBuffer(
    NAMES_MAX * (BigUint64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT),
  );
}
