/** What a row asks for: an event of an app, or a publish of a push instance. */
export type RowKind = 'event' | 'publish';

export const ROW_KINDS: readonly RowKind[] = ['event', 'publish'];

/** A row of an application's outbox that is to be sent. */
export interface OutboxRow {
  readonly id: bigint;
  readonly kind: RowKind;
  /** Names the row for repetitions: of all tables, and also after the ids of one began anew. Visible ASCII. */
  readonly key: string;
  /** `undefined`: it is too long to be read. */
  readonly body: string | undefined;
}

/** What became of a row. */
export type OutboxResult =
  | { readonly result: 'sent' }
  /** It can never be sent. */
  | { readonly result: 'failed'; readonly why: string }
  /** It may be sent later. Until then, rows of its kind are left where they are. */
  | { readonly result: 'later'; readonly why: string; readonly pauseMs: number }
  /** Not tried, because one before it was not sent, or because there was no more time. */
  | { readonly result: 'untried' };

export const SENT: OutboxResult = { result: 'sent' };
export const UNTRIED: OutboxResult = { result: 'untried' };

/** Bytes of a body above which it is not read. */
export const BODY_BYTES_MAX = 1_048_576;

export const TOO_LONG: OutboxResult = {
  result: 'failed',
  why: `413 The body has more than ${BODY_BYTES_MAX} bytes`,
};

/** Statuses of a request that would be refused again: it, or what it names, is wrong. */
const NEVER: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/** Statuses that pass when an operator has done something, or when the day ends: disabled, over a quota or plan, not there. */
const SELDOM: ReadonlySet<number> = new Set([401, 402, 403, 404]);

const PAUSE_MS = 1_000;
const LONG_PAUSE_MS = 10_000;

/** What the status of an answer means for a row. Status 0: the row was not tried. */
export function resultOf(status: number, text: string): OutboxResult {
  if (status === 0) return UNTRIED;
  if (status >= 200 && status < 300) return SENT;
  const why = `${status} ${text}`.trim();
  if (NEVER.has(status)) return { result: 'failed', why };
  return { result: 'later', why, pauseMs: SELDOM.has(status) ? LONG_PAUSE_MS : PAUSE_MS };
}
