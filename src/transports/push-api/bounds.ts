const KIB = 1024;
const MIB = 1024 * KIB;

/** The limits of the push listener, for one client and for all together. They are listed in docs/limits.md. */
export const pushBounds = {
  /** Open connections. At the limit, the address that has most loses one. */
  connections: 20_000,
  /** New connections of one address per second, with a burst of 5 seconds' worth. 0: no limit. */
  connectionsPerSecond: 1_000,
  /** Requests of one connection without an answer, or whose answer was not read. One more ends the connection. */
  requestsPerConnection: 32,
  /**
   * Requests in progress with a secret key of an instance, and as many without one. At the limit, the instance or
   * address that has most loses its newest.
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
  /** Between two requests of a connection. */
  idleMs: 30_000,
  /** How long an answer may wait for the client to read it. */
  unreadAnswerMs: 30_000,
  /** The interval between checks of heads, bodies and idle connections for timeouts. */
  checkMs: 1_000,
  /** The rest of a refused request that is skipped so that its connection stays open. */
  restBytes: MIB,
  /** The rest of a longer refused request that is read before its connection is closed, so that the client sees the answer. */
  lingerBytes: 16 * MIB,
  lingerMs: 5_000,
  /** How long requests in progress may take when the listener closes. */
  stopMs: 5_000,
};

export type PushBounds = Readonly<typeof pushBounds>;

/** The largest head of a request. The parser refuses larger ones, and more than 198 headers. */
export const HEAD_BYTES_MAX = 16 * KIB;
