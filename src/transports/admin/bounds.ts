import type { Rate } from '../../runtime/token-bucket.ts';

/** What the admin listener bears at most. */
export interface AdminBounds {
  /** Connections; one more costs the address that has the most of them one. */
  readonly connections: number;
  /** Connections of one address. */
  readonly connectionsPerAddress: number;
  /** Requests of one address that have no answer yet. */
  readonly requestsPerAddress: number;
  /** How often one address may ask, whatever it asks for. */
  readonly requestRate: Rate;
  readonly bodyBytes: number;
  /** From the first byte of a request to the end of its head, and to its last byte. */
  readonly headMs: number;
  readonly requestMs: number;
  /** Between two requests of a connection, and how long an answer may wait to be read. */
  readonly idleMs: number;
  /** Of a refused request, what is still read of its body, and how long: its sender shall see the answer. */
  readonly restBytes: number;
  readonly restMs: number;
}

/** As the table of bounds in ARCHITECTURE.md has them. */
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

/** Bytes of a request's head; the parser refuses more. */
export const HEAD_BYTES_MAX = 16_384;

/** Parameters of a query. No operation takes more than a few. */
export const PARAMETERS_MAX = 100;
