import type { Branded } from '../runtime/branded.ts';

/** One open connection, for example `123.456`, as clients and server libraries know it. */
export type SocketId = Branded<'SocketId'>;

/** The pattern every server library checks before it signs. Source: Channels protocol, §1.2. */
const SOCKET_ID = /^\d+\.\d+$/;

/** Longer ones are nobody's: two parts of at most 2^53 have 16 digits each. Characters. */
const SOCKET_ID_LENGTH_MAX = 64;

/** Reads a socket id out of untrusted input. */
export function parseSocketId(text: string): SocketId | undefined {
  return text.length <= SOCKET_ID_LENGTH_MAX && SOCKET_ID.test(text)
    ? (text as SocketId)
    : undefined;
}

/** The number before the point; exact for what `newHalf` made. */
export function firstHalfOf(id: SocketId): number {
  return Number(id.slice(0, id.indexOf('.')));
}

/** The id of these halves. */
export function socketIdOf(first: number, second: number): SocketId {
  return `${first}.${second}` as SocketId;
}

const POOLED = 1024;
const pool = new Uint32Array(POOLED);
let used = POOLED;

function randomUint32(): number {
  // Random bytes are drawn in bulk: one system call per connection would be the dearest part of connecting.
  if (used === POOLED) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool[used++] ?? 0;
}

/** 2^20: what a 32-bit number is multiplied with so that, with 20 more bits, it stays below 2^53. */
const TWENTY_BITS = 0x100000;

/**
 * Makes one half of a new socket id. Both have 52 random bits, so nobody can guess an id, and it is unique across nodes
 * as well. Each stays below 2^53, so that no client loses digits. Channel authorisations are bound to the id.
 */
export function newHalf(): number {
  return randomUint32() * TWENTY_BITS + (randomUint32() >>> 12);
}
