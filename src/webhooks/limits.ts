import type { OutboxKind } from './outbox.ts';

/** All limits of outgoing webhooks. What is dropped at a limit is counted in `WebhookFigures.dropped`. */

/**
 * How long an accepted event may wait for the next commit, which all events of this time share. A crash may lose at
 * most 250 ms of events; the other 150 ms are for passing events on and for the commit itself.
 */
export const FLUSH_MS = 100;

/**
 * How long the outbox knows the id of an event. A server of a cluster that could not confirm an event is found dead within
 * 15 s, and another reports the event again at once.
 */
export const EVENT_IDS_KEPT_MS = 600_000;

/** Events of one batch. Source: Channels docs, "Webhooks", batching: 20 events or 250 ms. */
export const BATCH_EVENTS_MAX = 20;

/** Characters of one batch. A single larger event is sent alone. */
export const BATCH_CHARACTERS_MAX = 262_144;

/**
 * The limit of events in memory before they are written, counted once for each endpoint. Beyond it, the app or
 * instance with the most loses its newest. Channels and push each have this limit.
 */
export const ACCEPTED_EVENTS_MAX = 20_000;

/** Characters of these events, under the same rule, with plenty of memory. */
export const ACCEPTED_CHARACTERS_MAX = 33_554_432;

/** Events of one commit, and events at which one is written at once. Keeps commits short. */
export const FLUSH_EVENTS = 2_000;

/** Settlements at which a commit is written at once. */
export const FLUSH_ATTEMPTS = 500;

/**
 * Requests that wait in the store. One app or instance may use no more than it leaves free: one alone half, each of
 * three a quarter. Beyond it, its new requests are dropped.
 */
export const WAITING_ROWS_MAX = 100_000;

/** Bytes of their bodies, under the same rule. */
export const WAITING_BYTES_MAX = 268_435_456;

/**
 * Requests that wait for one endpoint; beyond it, new ones are dropped. All addresses named by publishes of one
 * instance count as one endpoint, because the publisher may choose any number of them.
 */
export const ENDPOINT_ROWS_MAX = 25_000;

/** Bytes that wait for one endpoint, counted in the same way. */
export const ENDPOINT_BYTES_MAX = 67_108_864;

/** Limits of requests in flight. */
export interface InFlightMax {
  /** The limit of requests of the kind. One app or instance may use no more than it leaves free. */
  readonly all: number;
  /** From this many requests of the kind on, each endpoint gets one at a time, so that others get their turn. */
  readonly crowded: number;
  /** For one endpoint. */
  readonly endpoint: number;
  /** For all endpoints of one share, see `shareOf`. */
  readonly share: number;
}

/**
 * Each kind has limits of its own, so that none waits for the answers of the other. Bun has 256 connections for all
 * of `fetch`, and other parts need some. Events of push are not batched, so their endpoints get more at a time.
 */
export const inFlightMax: Readonly<Record<OutboxKind, InFlightMax>> = {
  channels: { all: 128, crowded: 64, endpoint: 4, share: 4 },
  push: { all: 48, crowded: 32, endpoint: 16, share: 16 },
  publish: { all: 24, crowded: 12, endpoint: 4, share: 8 },
};

/** Requests claimed at once for one endpoint. Their bodies are read when they are sent. */
export const CLAIM_ROWS = 32;

/** Endpoints for which requests are claimed in one commit. */
export const CLAIM_ENDPOINTS = 64;

/** How much longer a claim lasts than the timeout of a request. */
export const CLAIM_MS = 60_000;

/** How long a request of Channels is retried after its first attempt. Source: Channels docs, "Webhooks". */
export const RETRY_MS = 300_000;

/** The longest pause between two attempts of Channels. */
export const RETRY_PAUSE_MAX_MS = 60_000;

/** The timeout of an endpoint of push. Source: push protocol, §4.3. */
export const PUSH_TIMEOUT_MS = 3_000;

/** The pauses before the four retries of push. Source: push protocol, §4.3. */
export const PUSH_RETRY_PAUSES_MS: readonly number[] = [10_000, 30_000, 120_000, 300_000];

/**
 * A request that is due later than this was delayed by a clock that was set back. Longer than all pauses, and than clocks
 * of servers differ.
 */
export const DUE_WITHIN_MS = 3_600_000;

/** Bytes of an answer that are read and logged. */
export const ANSWER_BYTES = 1_024;

/** Finished requests in the log; beyond it, the oldest are deleted before `logDays` are over. */
export const LOG_ROWS_MAX = 100_000;

/** Bytes of their bodies. */
export const LOG_BYTES_MAX = 268_435_456;

/** Finished requests deleted in one commit. */
export const FORGET_ROWS = 500;

/** How often old requests are deleted and the counts of waiting ones are read again. */
export const MAINTENANCE_MS = 30_000;

/** The pause after the store failed. */
export const STORE_PAUSE_MS = 1_000;

/** How long a stopping server waits for answers. What is still in flight is sent again at the next start. */
export const CLOSE_MS = 2_000;

/** How long it is known how an address answered that is not tried any more. */
export const HEALTH_KEPT_MS = 86_400_000;

/** Tests of webhooks that are under way at the same time; more are refused. */
export const TESTS_MAX = 4;
