/** What the push listener bears at most, of one client and of all together. */
export interface PushBounds {
  /** Connections; one more is closed as it comes. */
  readonly connections: number;
  /** Requests of one connection that have no answer yet, or whose answer was not taken; one more ends it. */
  readonly requestsPerConnection: number;
  /** Requests of all connections that have no answer yet; one more is refused. */
  readonly requests: number;
  /** Bodies, and answers that nobody takes, in memory; a request that needs more is refused or cut off. */
  readonly heldBytes: number;
  /** From the first byte of a request to the end of its head. */
  readonly headMs: number;
  /** From the first byte of a request to its last. */
  readonly requestMs: number;
  /** Between two requests of a connection. */
  readonly idleMs: number;
  /** How long an answer may wait to be taken. */
  readonly untakenMs: number;
  /** How often the first three of these are looked at. */
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
  requestsPerConnection: 32,
  requests: 10_000,
  heldBytes: 128 * MIB,
  headMs: 10_000,
  requestMs: 30_000,
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

/** What the listener bears now. */
export class Load {
  requests = 0;
  heldBytes = 0;
}
