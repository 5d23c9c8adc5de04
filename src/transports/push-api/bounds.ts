/** The limits of the push listener, for one client and for all together. */
export interface PushBounds {
  /** Open connections. At the limit, the address that has most loses one. */
  readonly connections: number;
  /** New connections of one address per second, with a burst of 5 seconds' worth. 0: no limit. */
  readonly connectionsPerSecond: number;
  /** Requests of one connection without an answer, or whose answer was not read. One more ends the connection. */
  readonly requestsPerConnection: number;
  /**
   * Requests in progress with a secret key of an instance, and as many without one. At the limit, the instance or
   * address that has most loses its newest.
   */
  readonly requests: number;
  /** Memory for bodies and unread answers of requests with a secret key, and as much for those without one. */
  readonly heldBytes: number;
  /** From the first byte of a request to the end of its head. */
  readonly headMs: number;
  /** From the first byte of a request to its last. */
  readonly requestMs: number;
  /** The least average speed of a body after `bodyGraceMs`. 0: no limit. */
  readonly bodyBytesPerSecond: number;
  readonly bodyGraceMs: number;
  /** Between two requests of a connection. */
  readonly idleMs: number;
  /** How long an answer may wait for the client to read it. */
  readonly unreadAnswerMs: number;
  /** The interval between checks of heads, bodies and idle connections for timeouts. */
  readonly checkMs: number;
  /** The rest of a refused request that is skipped so that its connection stays open. */
  readonly restBytes: number;
  /** The rest of a longer refused request that is read before its connection is closed, so that the client sees the answer. */
  readonly lingerBytes: number;
  readonly lingerMs: number;
  /** How long requests in progress may take when the listener closes. */
  readonly stopMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** The defaults, listed in docs/limits.md. */
export const pushBounds: PushBounds = {
  connections: 20_000,
  connectionsPerSecond: 1_000,
  requestsPerConnection: 32,
  requests: 5_000,
  heldBytes: 64 * MIB,
  headMs: 10_000,
  requestMs: 30_000,
  bodyBytesPerSecond: KIB,
  bodyGraceMs: 5_000,
  idleMs: 30_000,
  unreadAnswerMs: 30_000,
  checkMs: 1_000,
  restBytes: MIB,
  lingerBytes: 16 * MIB,
  lingerMs: 5_000,
  stopMs: 5_000,
};

/** The largest head of a request. The parser refuses larger ones, and more than 198 headers. */
export const HEAD_BYTES_MAX = 16 * KIB;
