import { addressText, parseAddress, unmapped } from '../ip-address.ts';

/** A power of two, far above the number of sockets of most servers. Each place takes four bytes. */
const PLACES = 262_144;

/** The index of a random number, so that nobody can choose sockets with the same place. */
const SEED = PLACES;

/** An odd number whose bits are well mixed. */
const FACTOR = 0x9e3779b1;

/** Where a socket is counted. */
export type SocketPlace = number;

/** Nobody's place. */
export const NO_PLACE: SocketPlace = -1;

/**
 * The sockets of all loops of a process that are in use, although nothing may be sent on them for long: WebSockets, and
 * requests that are held. Counted by a hash of the other end, so that a socket may seem to be in use because another one is,
 * but never the other way round.
 */
export class SocketMarks {
  private readonly counts: Int32Array<SharedArrayBuffer>;

  /** `memory` was made with `shareSocketMarks`. */
  constructor(memory: SharedArrayBuffer) {
    this.counts = new Int32Array(memory);
  }

  /** The place of the socket whose other end this is; `NO_PLACE` if it is unknown. */
  placeOf(
    peer: { readonly address: string; readonly port: number } | null | undefined,
  ): SocketPlace {
    if (peer === null || peer === undefined) return NO_PLACE;
    // Runs for each handshake: several times as fast as the hashes of the runtime, which make a text and a BigInt.
    const address = plainAddress(peer.address);
    let hash = mixed((this.counts[SEED] ?? 0) ^ peer.port);
    for (let at = 0; at < address.length; at++) hash = mixed(hash ^ address.charCodeAt(at));
    return hash & (PLACES - 1);
  }

  add(place: SocketPlace): void {
    if (place !== NO_PLACE) Atomics.add(this.counts, place, 1);
  }

  remove(place: SocketPlace): void {
    if (place !== NO_PLACE) Atomics.sub(this.counts, place, 1);
  }

  has(place: SocketPlace): boolean {
    return place !== NO_PLACE && Atomics.load(this.counts, place) > 0;
  }
}

/** Makes the memory for such marks. */
export function shareSocketMarks(): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((PLACES + 1) * Int32Array.BYTES_PER_ELEMENT);
  crypto.getRandomValues(new Int32Array(memory).subarray(SEED));
  return memory;
}

function mixed(value: number): number {
  const product = Math.imul(value, FACTOR);
  return product ^ (product >>> 15);
}

/** An IPv4 address that arrived over IPv6 is that IPv4 address. */
function plainAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bytes = parseAddress(address);
  return bytes === undefined ? address : addressText(unmapped(bytes));
}
