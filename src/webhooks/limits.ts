import type { OutboxKind } from './outbox.ts';

/**
 * Every bound of what leaves the server, in one place. What happens at each of them is said here, and
 * counted in `WebhookFigures.dropped`.
 */

/**
 * How long an accepted event may wait for the next commit. The store is written once for all events of this
 * time; the rest of the 250 ms that a `kill -9` may cost at most is for the way here and for the commit itself,
 * which takes its time where thousands of events a second come and the processors are busy.
 */
export const FLUSH_MS = 100;

/** Events of one batch. Source: Channels docs, "Webhooks", batching: 20 events or 250 ms. */
export const BATCH_EVENTS_MAX = 20;

/** A batch is sent on before it grows beyond this; a single larger event is a request of its own. */
export const BATCH_CHARACTERS_MAX = 262_144;

/**
 * Events that wait to be written, one for each endpoint they go to; beyond it, the app or instance that has most
 * loses its newest. Those of Channels and those of push have this room each.
 */
export const ACCEPTED_EVENTS_MAX = 20_000;

/** Their characters; the same holds beyond it. */
export const ACCEPTED_CHARACTERS_MAX = 33_554_432;

/** Events after which the store is written at once, and events of one commit, so that none takes long. */
export const FLUSH_EVENTS = 2_000;

/** Attempts after which the store is written at once. */
export const FLUSH_ATTEMPTS = 500;

/**
 * Requests that wait in the store. One app or instance may have no more of it than it leaves free, so that there is
 * always room for others: one alone half, each of three a quarter. Beyond it, its new ones are dropped.
 */
export const WAITING_ROWS_MAX = 100_000;

/** Bytes of their bodies, shared in the same way. */
export const WAITING_BYTES_MAX = 268_435_456;

/**
 * Requests that wait for one endpoint; beyond it new ones for it are dropped, so that it leaves room. All
 * addresses that the publishes of one instance name are one endpoint here: whoever publishes chooses them.
 */
export const ENDPOINT_ROWS_MAX = 25_000;

/** Bytes that wait for one endpoint, in the same sense. */
export const ENDPOINT_BYTES_MAX = 67_108_864;

/** How many requests may be under way at once. */
export interface InFlightMax {
  /** Of the kind. One app or instance may have no more of it than it leaves free. */
  readonly all: number;
  /** With so many of the kind under way, each endpoint gets one at a time, so that others still get their turn. */
  readonly crowded: number;
  /** For one endpoint. */
  readonly endpoint: number;
  /** For all endpoints that share their room. */
  readonly share: number;
}

/**
 * Each kind has its own, so that none waits for the answers of another. Bun has 256 connections for all of
 * `fetch`, and others need some. Events of push are not batched: their endpoints get more at a time.
 */
export const inFlightMax: Readonly<Record<OutboxKind, InFlightMax>> = {
  channels: { all: 128, crowded: 64, endpoint: 4, share: 4 },
  push: { all: 48, crowded: 32, endpoint: 16, share: 16 },
  publish: { all: 24, crowded: 12, endpoint: 4, share: 8 },
};

/** Requests of one endpoint that are claimed at once. Their bodies are read when they are sent. */
export const CLAIM_ROWS = 32;

/** Endpoints for which requests are claimed in one commit. */
export const CLAIM_ENDPOINTS = 64;

/** How long a claim lasts beyond the timeout of a request. */
export const CLAIM_MS = 60_000;

/** After the first attempt, how long a request of Channels is tried again. Source: Channels docs, "Webhooks". */
export const RETRY_MS = 300_000;

/** Its longest pause between two attempts. */
export const RETRY_PAUSE_MAX_MS = 60_000;

/** How long an endpoint of push may take to answer. Source: push protocol, §4.3. */
export const PUSH_TIMEOUT_MS = 3_000;

/** The pauses before each of its four further tries. Source: push protocol, §4.3. */
export const PUSH_RETRY_PAUSES_MS: readonly number[] = [10_000, 30_000, 120_000, 300_000];

/** How much of an answer is read and kept in the log. */
export const ANSWER_BYTES = 1_024;

/** Finished requests that the log keeps; beyond it the oldest are forgotten before `logDays` is over. */
export const LOG_ROWS_MAX = 100_000;

/** Bytes of their bodies. */
export const LOG_BYTES_MAX = 268_435_456;

/** Finished requests that are deleted in one commit. */
export const FORGET_ROWS = 500;

/** How often old requests are looked for, and the counts of what waits are read anew. */
export const ROUND_MS = 30_000;

/** The pause after the store could not be written or read. */
export const STORE_PAUSE_MS = 1_000;

/** How long the end of the server waits for answers; what is then under way is sent again at the next start. */
export const CLOSE_MS = 2_000;
