/** What the push listener bears at most, of one client and of all together. */
export interface PushBounds {
  /** Connections. One more takes the place of one of the address that has most. */
  readonly connections: number;
  /** New connections of one address per second, a few seconds of them at once; 0: any number. */
  readonly connectionsPerSecond: number;
  /** Requests of one connection that have no answer yet, or whose answer was not taken; one more ends it. */
  readonly requestsPerConnection: number;
  /**
   * Requests that have no answer yet, of those with the secret key of an instance, and as many of all others. One
   * more takes the place of one of the instance, or the address, that has most.
   */
  readonly requests: number;
  /** Bodies, and answers that nobody takes, in memory; as many bytes of each of the two kinds of requests. */
  readonly heldBytes: number;
  /** From the first byte of a request to the end of its head. */
  readonly headMs: number;
  /** From the first byte of a request to its last. */
  readonly requestMs: number;
  /** The least speed of a body, on average, once `bodyGraceMs` have passed. 0: none. */
  readonly bodyBytesPerSecond: number;
  readonly bodyGraceMs: number;
  /** Between two requests of a connection. */
  readonly idleMs: number;
  /** How long an answer may wait to be taken. */
  readonly untakenMs: number;
  /** How often the times for heads, bodies and idle connections are looked at. */
  readonly checkMs: number;
  /** Of a refused request, what is still read so that its connection can go on. */
  readonly restBytes: number;
  /** Of a longer one, what is read before its connection is closed: who is still sending shall see the answer. */
  readonly lingerBytes: number;
  readonly lingerMs: number;
  /** What requests under way get when the listener is closed. */
  readonly stopMs: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** As the table of bounds in ARCHITECTURE.md has them. */
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
  untakenMs: 30_000,
  checkMs: 1_000,
  restBytes: MIB,
  lingerBytes: 16 * MIB,
  lingerMs: 5_000,
  stopMs: 5_000,
};

/** Bytes of a request's head; the parser refuses more, and more than 198 headers. */
export const HEAD_BYTES_MAX = 16 * KIB;

/** Parameters in the query of a request; the API has none that takes a list. */
export const QUERY_PARAMETERS_MAX = 100;
