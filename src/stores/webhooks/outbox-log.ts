import { redactedPublishWebhook } from '../../push/webhooks/publish-webhook.ts';
import type {
  AttemptOutcome,
  FinishedRequests,
  ForgetOptions,
  OutboxEntry,
  OutboxEntryDetails,
  OutboxFilter,
  OutboxLog,
  OutboxRequest,
  OutboxState,
  WebhookAttempt,
} from '../../webhooks/outbox.ts';
import type { Database } from '../database/database.ts';
import type { BigInteger } from '../database/rows.ts';
import { blockedOr, isBlocked, type RequestRow, requestOf } from './outbox.ts';

interface EntryRow extends RequestRow {
  readonly state: OutboxState;
  readonly reason: string;
  readonly attempts: number;
  readonly next_attempt_at: BigInteger;
  readonly finished_at: BigInteger | null;
}

interface AttemptRow {
  readonly number: number;
  readonly at: BigInteger;
  readonly duration_ms: BigInteger;
  readonly outcome: AttemptOutcome;
  readonly status: number | null;
  readonly answer: string;
}

interface FinishedRow {
  readonly owner_id: string;
  readonly finished: BigInteger;
  readonly bytes: BigInteger;
}

/** The log of the outbox, in the same tables as the waiting requests. */
export class StoredOutboxLog implements OutboxLog {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async list({
    kinds,
    ownerId,
    state,
    limit,
    before,
  }: OutboxFilter): Promise<readonly OutboxEntry[]> {
    if (kinds?.length === 0) return [];
    if (!mayBeStored(ownerId) || !mayBeStored(before)) return [];
    const { read: sql } = this.database;
    const rows: EntryRow[] = await sql`
      SELECT id, kind, owner_id, url, endpoint, events, created_at, body_bytes, state, reason,
        attempts, next_attempt_at, finished_at
      FROM outbox_requests
      WHERE 1 = 1
        ${kinds === undefined ? sql`` : sql`AND kind IN ${sql(kinds)}`}
        ${ownerId === undefined ? sql`` : sql`AND owner_id = ${ownerId}`}
        ${state === undefined ? sql`` : sql`AND state = ${state}`}
        ${before === undefined ? sql`` : sql`AND id < ${before}`}
      ORDER BY id DESC LIMIT ${limit}`;
    return rows.map(entryOf);
  }

  async show(id: string): Promise<OutboxEntryDetails | undefined> {
    if (!mayBeStored(id)) return undefined;
    const [row]: (EntryRow & { readonly body: string })[] = await this.database.read`
      SELECT id, kind, owner_id, url, endpoint, events, created_at, body_bytes, state, reason,
        attempts, next_attempt_at, finished_at, body
      FROM outbox_requests WHERE id = ${id}`;
    if (row === undefined) return undefined;
    const attempts: AttemptRow[] = await this.database.read`
      SELECT number, at, duration_ms, outcome, status, answer
      FROM outbox_attempts WHERE request_id = ${id} ORDER BY number`;
    const body = row.kind === 'publish' ? redactedPublishWebhook(row.body) : row.body;
    return { ...entryOf(row), body, attemptLog: attempts.map(attemptOf) };
  }

  async replay(id: string, nowMs: number): Promise<OutboxRequest | 'waiting' | 'unknown'> {
    if (!mayBeStored(id)) return 'unknown';
    return await this.database.write(async (sql) => {
      const replayed: RequestRow[] = await sql`
        UPDATE outbox_requests SET state = 'waiting', reason = '', tries = 0, first_try_at = NULL,
          next_attempt_at = ${blockedOr(sql, nowMs)}, claimed_until = 0, finished_at = NULL
        WHERE id = ${id} AND finished_at IS NOT NULL
        RETURNING id, kind, owner_id, url, endpoint, events, created_at, body_bytes`;
      if (replayed[0] !== undefined) return requestOf(replayed[0]);
      const waiting: unknown[] = await sql`SELECT 1 FROM outbox_requests WHERE id = ${id}`;
      return waiting.length > 0 ? 'waiting' : 'unknown';
    }, 'admin');
  }

  async finished(): Promise<readonly FinishedRequests[]> {
    const owners: FinishedRow[] = await this.database.read`
      SELECT owner_id, COUNT(*) AS finished, SUM(body_bytes) AS bytes
      FROM outbox_requests WHERE finished_at IS NOT NULL GROUP BY owner_id`;
    return owners.map(({ owner_id, finished, bytes }) => ({
      ownerId: owner_id,
      rows: Number(finished),
      bytes: Number(bytes),
    }));
  }

  async forget({
    finishedBeforeMs,
    limit,
    ownerId,
  }: ForgetOptions): Promise<{ readonly rows: number; readonly bytes: number }> {
    return await this.database.write(async (sql) => {
      // The foreign key deletes their attempts.
      const rows: { body_bytes: BigInteger }[] = await sql`
        DELETE FROM outbox_requests WHERE id IN (
          SELECT id FROM outbox_requests
          WHERE finished_at IS NOT NULL AND finished_at < ${finishedBeforeMs}
            ${ownerId === undefined ? sql`` : sql`AND owner_id = ${ownerId}`}
          ORDER BY finished_at LIMIT ${limit})
        RETURNING body_bytes`;
      return {
        rows: rows.length,
        bytes: rows.reduce((sum, { body_bytes }) => sum + Number(body_bytes), 0),
      };
    });
  }
}

/** PostgreSQL accepts no text with a zero character, not even to compare with. */
function mayBeStored(text: string | undefined): boolean {
  return text?.includes('\0') !== true;
}

function entryOf(row: EntryRow): OutboxEntry {
  const waits = row.finished_at === null;
  return {
    ...requestOf(row),
    state: row.state,
    reason: row.reason,
    attempts: row.attempts,
    nextAttemptAtMs:
      waits && !isBlocked(row.next_attempt_at) ? Number(row.next_attempt_at) : undefined,
    finishedAtMs: waits ? undefined : Number(row.finished_at),
  };
}

function attemptOf(row: AttemptRow): WebhookAttempt {
  return {
    number: row.number,
    atMs: Number(row.at),
    durationMs: Number(row.duration_ms),
    outcome: row.outcome,
    status: row.status ?? undefined,
    answer: row.answer,
  };
}
