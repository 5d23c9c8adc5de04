import { refusedBodyBounds } from '../refused-body.ts';

/** The limits of the admin listener, as the documentation lists them. */
export const adminBounds = {
  /** The limit of connections. When one more comes, the address with the most loses one. */
  connections: 1_000,
  /** Connections of one address. */
  connectionsPerAddress: 200,
  /** Requests of one address in flight. */
  requestsPerAddress: 50,
  /** Requests of one connection whose answers are not sent or not read. */
  requestsPerConnection: 16,
  /** Bytes of all long answers that are not read. */
  unreadBytes: 67_108_864,
  /** The rate of requests of one address. */
  requestRate: { perSecond: 500, burst: 5_000 },
  bodyBytes: 65_536,
  /** The time from the first byte of a request to the end of its head, and to its last byte. */
  headMs: 10_000,
  requestMs: 10_000,
  /** Between two requests of a connection; 0: for ever. */
  idleMs: 240_000,
  /** How long an answer may wait for the client to read it. */
  unreadAnswerMs: 30_000,
  /** How often it is checked whether the client of a stream may still ask. */
  accessMs: 5_000,
  ...refusedBodyBounds,
  /** How long a connection that sent no valid request stays open after its answer. */
  restMs: 2_000,
};

export type AdminBounds = Readonly<typeof adminBounds>;

/** Bytes of a request's head. The parser refuses more. */
export const HEAD_BYTES_MAX = 16_384;
