import type { Rate } from '../../runtime/token-bucket.ts';

/** The limits of the admin listener. */
export interface AdminBounds {
  /** Connections. With one more, the address that has the most loses one. */
  readonly connections: number;
  /** Connections of one address. */
  readonly connectionsPerAddress: number;
  /** Requests of one address in flight. */
  readonly requestsPerAddress: number;
  /** The rate of requests of one address. */
  readonly requestRate: Rate;
  readonly bodyBytes: number;
  /** The time from the first byte of a request to the end of its head, and to its last byte. */
  readonly headMs: number;
  readonly requestMs: number;
  /** The time between two requests of a connection, and the time in which an answer must be read. */
  readonly idleMs: number;
  /** How much of a refused request's body is still read, and how long, so that the client sees the answer. */
  readonly restBytes: number;
  readonly restMs: number;
}

/** The limits as the documentation lists them. */
export const adminBounds: AdminBounds = {
  connections: 1_000,
  connectionsPerAddress: 200,
  requestsPerAddress: 50,
  requestRate: { perSecond: 500, burst: 5_000 },
  bodyBytes: 65_536,
  headMs: 10_000,
  requestMs: 10_000,
  idleMs: 30_000,
  restBytes: 1_048_576,
  restMs: 2_000,
};

/** Bytes of a request's head. The parser refuses more. */
export const HEAD_BYTES_MAX = 16_384;

/** Parameters in a query. Operations take only a few. */
export const PARAMETERS_MAX = 100;
