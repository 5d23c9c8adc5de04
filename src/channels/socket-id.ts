import type { Branded } from '../runtime/branded.ts';

/** One open connection, for example `123.456`, as clients and server libraries know it. */
export type SocketId = Branded<'SocketId'>;

/** The pattern every server library checks before it signs. Source: Channels protocol, §1.2. */
const SOCKET_ID = /^\d+\.\d+$/;

/** Characters. Two numbers below 2^53 have 16 digits each. */
const SOCKET_ID_LENGTH_MAX = 64;

/** Reads a socket id out of untrusted input. */
export function parseSocketId(text: string): SocketId | undefined {
  return text.length <= SOCKET_ID_LENGTH_MAX && SOCKET_ID.test(text)
    ? (text as SocketId)
    : undefined;
}

/** Returns the number before the dot; exact for halves made by `newHalf`. */
export function firstHalfOf(id: SocketId): number {
  return Number(id.slice(0, id.indexOf('.')));
}

/** Joins two halves into a socket id. */
export function socketIdOf(first: number, second: number): SocketId {
  return `${first}.${second}` as SocketId;
}

const POOLED = 1024;
const pool = new Uint32Array(POOLED);
let used = POOLED;

function randomUint32(): number {
  // Generated in bulk: one system call per connection would be the most expensive part of connecting.
  if (used === POOLED) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool[used++] ?? 0;
}

/** 2^20: a 32-bit number shifted by 20 bits stays below 2^53. */
const TWENTY_BITS = 0x100000;

/**
 * Makes one half of a socket id: 52 random bits, so that ids are unguessable (channel authorisations are bound to
 * them) and unique across nodes. It is below 2^53, so no client loses digits.
 */
export function newHalf(): number {
  return randomUint32() * TWENTY_BITS + (randomUint32() >>> 12);
}
