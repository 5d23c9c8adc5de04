import { refusedBodyBounds } from '../refused-body.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The limits of the push listener, for one client and for all together. They are listed in docs/reference/limits.md. */
export const pushBounds = {
  /** The limit of open connections. Beyond it, the address with the most loses one. */
  connections: 20_000,
  /** New connections of one address per second, with a burst of 5 seconds' worth. 0: no limit. */
  connectionsPerSecond: 1_000,
  /** What a connection may send before its last request is answered. Beyond it, the connection is closed. */
  advanceBytes: 16 * KIB,
  /**
   * The limits of requests in progress: with secret keys, and without. Beyond one, the instance or address with the
   * most loses its newest.
   */
  requests: 5_000,
  /** Memory for bodies and unread answers of requests with a secret key, and as much for those without one. */
  heldBytes: 64 * MIB,
  /** From the first byte of a request to the end of its head. */
  headMs: 10_000,
  /** From the first byte of a request to its last. */
  requestMs: 30_000,
  /** The least average speed of a body after `bodyGraceMs`. 0: no limit. */
  bodyBytesPerSecond: KIB,
  bodyGraceMs: 5_000,
  /** Between two requests of a connection; 0: for ever. */
  idleMs: 240_000,
  /** How long an answer may wait for the client to read it. */
  unreadAnswerMs: 30_000,
  /** The interval between checks of heads, bodies and idle connections for timeouts. */
  checkMs: 1_000,
  ...refusedBodyBounds,
  /** How long requests in progress may take while the listener closes. */
  stopMs: 1_000,
};

export type PushBounds = Readonly<typeof pushBounds>;

/** The largest head of a request. The parser refuses larger ones, and more than 198 headers. */
export const HEAD_BYTES_MAX = 16 * KIB;
