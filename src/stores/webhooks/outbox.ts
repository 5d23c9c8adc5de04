import type { SQL, TransactionSQL } from 'bun';
import type {
  ClaimedRequest,
  EndpointBacklog,
  EndpointClaim,
  NewOutboxRequest,
  Outbox,
  OutboxClaimOptions,
  OutboxKind,
  Settlement,
  WantedRequests,
} from '../../webhooks/outbox.ts';
import type { Database } from '../database/database.ts';
import { skipLocked } from '../database/dialect.ts';
import { type BigInteger, inPieces } from '../database/rows.ts';

/** The `next_attempt_at` of a request that is blocked by another one: the last moment that a date can hold. */
const BLOCKED_MS = 8_640_000_000_000_000;

/** Ids that one change forgets. */
const IDS_PER_CHANGE = 5_000;

/** The columns of an `OutboxRequest`. */
export interface RequestRow {
  readonly id: string;
  readonly kind: OutboxKind;
  readonly owner_id: string;
  readonly url: string;
  readonly endpoint: string;
  readonly events: string;
  readonly created_at: BigInteger;
  readonly body_bytes: BigInteger;
}

interface ClaimedRow extends RequestRow {
  readonly attempts: number;
  readonly tries: number;
  readonly first_try_at: BigInteger | null;
}

interface BacklogRow {
  readonly endpoint: string;
  readonly waiting: BigInteger;
  readonly bytes: BigInteger;
  readonly oldest: BigInteger;
  readonly due: BigInteger;
}

/** PostgreSQL returns large numbers as text. */
export function requestOf(row: RequestRow) {
  return {
    id: row.id,
    kind: row.kind,
    ownerId: row.owner_id,
    url: row.url,
    endpoint: row.endpoint,
    events: row.events,
    createdAtMs: Number(row.created_at),
    bodyBytes: Number(row.body_bytes),
  };
}

/** The outbox in the store's tables. Several servers may use it at the same time. */
export class StoredOutbox implements Outbox {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  async write(
    requests: readonly NewOutboxRequest[],
    settled: readonly Settlement[],
  ): Promise<void> {
    await this.database.write(async (sql) => {
      for (const some of inPieces(await withoutKnown(sql, requests))) {
        const rows = some.map(newRow);
        // Some may exist already, if the answer to an earlier commit was lost.
        await sql`INSERT INTO outbox_requests ${sql(rows)} ON CONFLICT (id) DO NOTHING`;
      }
      for (const settlement of settled) await settle(sql, settlement);
      await unblockAfter(sql, possibleBlockers(requests, settled));
    });
  }

  async claim({ wanted, nowMs, untilMs }: OutboxClaimOptions): Promise<readonly EndpointClaim[]> {
    return await this.database.write(async (sql) => {
      const claims: EndpointClaim[] = [];
      for (const { endpoint, limit } of wanted) {
        const requests = await claimSome(sql, { endpoint, limit, nowMs, untilMs });
        // At the limit, more may be due now; otherwise the next one is due later.
        const dueAtMs = requests.length < limit ? await nextDue(sql, endpoint, untilMs) : nowMs;
        claims.push({ endpoint, requests, dueAtMs });
      }
      return claims;
    });
  }

  async releaseAllClaims(): Promise<void> {
    await this.database.write(
      (sql) => sql`UPDATE outbox_requests SET claimed_until = 0
        WHERE finished_at IS NULL AND claimed_until > 0`,
    );
  }

  async releaseClaim(endpoints: readonly string[], untilMs: number): Promise<void> {
    // If another server has claimed until the same millisecond, a request may be sent twice, which is allowed.
    await this.database.write(
      (sql) => sql`UPDATE outbox_requests SET claimed_until = 0
        WHERE finished_at IS NULL AND claimed_until = ${untilMs} AND endpoint IN ${sql(endpoints)}`,
    );
  }

  async unblock(): Promise<void> {
    await this.database.write((sql) => unblockWhere(sql, sql`after_id IS NOT NULL`));
  }

  async bringForward(nowMs: number, beyondMs: number): Promise<boolean> {
    const { read } = this.database;
    const isBeyond = (sql: SQL) => sql`finished_at IS NULL
      AND next_attempt_at > ${beyondMs} AND next_attempt_at < ${BLOCKED_MS}`;
    const some: unknown[] =
      await read`SELECT 1 FROM outbox_requests WHERE ${isBeyond(read)} LIMIT 1`;
    if (some.length === 0) return false;
    await this.database.write(
      (sql) => sql`UPDATE outbox_requests SET next_attempt_at = ${nowMs} WHERE ${isBeyond(sql)}`,
    );
    return true;
  }

  async forgetEventIds(writtenBeforeMs: number): Promise<void> {
    for (let forgotten = IDS_PER_CHANGE; forgotten === IDS_PER_CHANGE; ) {
      const rows: unknown[] = await this.database.write(
        (sql) => sql`DELETE FROM outbox_event_ids WHERE id IN (
            SELECT id FROM outbox_event_ids WHERE written_at < ${writtenBeforeMs}
            ORDER BY written_at LIMIT ${IDS_PER_CHANGE})
          RETURNING 1`,
      );
      forgotten = rows.length;
    }
  }

  async body(id: string): Promise<string | undefined> {
    const rows: { body: string }[] = await this.database.read`
      SELECT body FROM outbox_requests WHERE id = ${id}`;
    return rows[0]?.body;
  }

  async backlog(): Promise<readonly EndpointBacklog[]> {
    const rows: BacklogRow[] = await this.database.read`
      SELECT endpoint, COUNT(*) AS waiting, SUM(body_bytes) AS bytes, MIN(created_at) AS oldest,
        MIN(CASE WHEN claimed_until > next_attempt_at THEN claimed_until ELSE next_attempt_at END) AS due
      FROM outbox_requests WHERE finished_at IS NULL GROUP BY endpoint`;
    return rows.map(({ endpoint, waiting, bytes, oldest, due }) => ({
      endpoint,
      rows: Number(waiting),
      bytes: Number(bytes),
      oldestAtMs: Number(oldest),
      dueAtMs: isBlocked(due) ? Number.POSITIVE_INFINITY : Number(due),
    }));
  }
}

/** Leaves out events whose ids are known, and remembers the other ids. */
async function withoutKnown(
  sql: TransactionSQL,
  requests: readonly NewOutboxRequest[],
): Promise<readonly NewOutboxRequest[]> {
  const writtenAt = new Map<string, number>();
  for (const { repeatable, createdAtMs } of requests) {
    for (const id of repeatable?.ids ?? []) writtenAt.set(id, createdAtMs);
  }
  if (writtenAt.size === 0) return requests;
  const known = new Set(writtenAt.keys());
  // In one order on all servers, so that two of them never wait for each other.
  for (const ids of inPieces([...known].toSorted())) {
    const rows = ids.map((id) => ({ id, written_at: writtenAt.get(id) ?? 0 }));
    const added: { id: string }[] = await sql`
      INSERT INTO outbox_event_ids ${sql(rows)} ON CONFLICT (id) DO NOTHING RETURNING id`;
    for (const { id } of added) known.delete(id);
  }
  if (known.size === 0) return requests;
  return requests.flatMap((request) =>
    request.repeatable === undefined ? request : (request.repeatable.without(known) ?? []),
  );
}

function newRow(request: NewOutboxRequest) {
  return {
    id: request.id,
    kind: request.kind,
    owner_id: request.ownerId,
    url: request.url,
    endpoint: request.endpoint,
    events: request.events,
    state: 'waiting',
    reason: '',
    attempts: 0,
    tries: 0,
    created_at: request.createdAtMs,
    next_attempt_at: request.afterId === undefined ? request.createdAtMs : BLOCKED_MS,
    claimed_until: 0,
    body_bytes: request.bodyBytes,
    body: request.body,
    after_id: request.afterId ?? null,
  };
}

/** Whether a request is blocked by another one. */
export function isBlocked(nextAttemptAt: BigInteger): boolean {
  return Number(nextAttemptAt) === BLOCKED_MS;
}

/** The `next_attempt_at` of a replayed request: `atMs`, unless another one blocks it. */
export function blockedOr(sql: TransactionSQL, atMs: number) {
  return sql`CASE WHEN EXISTS (SELECT 1 FROM outbox_requests AS earlier
      WHERE earlier.id = outbox_requests.after_id AND earlier.finished_at IS NULL)
    THEN CAST(${BLOCKED_MS} AS BIGINT) ELSE CAST(${atMs} AS BIGINT) END`;
}

/** Requests that new ones name as `afterId`, and settled ones that others may name. */
function possibleBlockers(
  requests: readonly NewOutboxRequest[],
  settled: readonly Settlement[],
): readonly string[] {
  const over = settled.filter(
    ({ request, next }) => request.kind === 'publish' && next.state !== 'waiting',
  );
  return [
    ...requests.flatMap(({ afterId }) => afterId ?? []),
    ...over.map(({ request }) => request.id),
  ];
}

/** Unblocks the successors of those `afterIds` that are settled. */
async function unblockAfter(sql: TransactionSQL, afterIds: readonly string[]): Promise<void> {
  for (const some of inPieces(afterIds)) {
    await unblockWhere(sql, sql`after_id IN ${sql(some)}`);
  }
}

async function unblockWhere(sql: TransactionSQL, which: Bun.SQL.Query<unknown>): Promise<void> {
  await sql`UPDATE outbox_requests SET next_attempt_at = created_at
    WHERE finished_at IS NULL AND next_attempt_at = ${BLOCKED_MS} AND ${which}
      AND NOT EXISTS (SELECT 1 FROM outbox_requests AS earlier
        WHERE earlier.id = outbox_requests.after_id AND earlier.finished_at IS NULL)`;
}

async function settle(sql: TransactionSQL, { request, attempt, next }: Settlement): Promise<void> {
  const waits = next.state === 'waiting';
  const made = attempt === undefined ? 0 : 1;
  const attempts = sql`CAST(${request.attempts + made} AS INTEGER)`;
  const tries = sql`CAST(${request.tries + made} AS INTEGER)`;
  const mine = sql`claimed_until = ${request.claimedUntilMs}`;
  await sql`UPDATE outbox_requests SET
      state = ${next.state},
      reason = ${waits ? '' : next.reason},
      attempts = CASE WHEN attempts < ${attempts} THEN ${attempts} ELSE attempts END,
      tries = CASE WHEN tries < ${tries} THEN ${tries} ELSE tries END,
      first_try_at = COALESCE(first_try_at, ${attempt?.atMs ?? null}),
      next_attempt_at = ${next.atMs},
      claimed_until = ${waits ? sql`CASE WHEN ${mine} THEN 0 ELSE claimed_until END` : sql`0`},
      finished_at = ${waits ? null : next.atMs}
    WHERE id = ${request.id} AND finished_at IS NULL
      ${waits && made === 0 ? sql`AND ${mine}` : sql``}`;
  if (attempt === undefined) return;
  // The request may have been deleted, and an attempt under a lost claim may have been written.
  await sql`INSERT INTO outbox_attempts
      (request_id, number, at, duration_ms, outcome, status, answer)
    SELECT id, CAST(${attempt.number} AS INTEGER), CAST(${attempt.atMs} AS BIGINT),
      CAST(${attempt.durationMs} AS BIGINT), CAST(${attempt.outcome} AS TEXT),
      CAST(${attempt.status ?? null} AS INTEGER), CAST(${attempt.answer} AS TEXT)
    FROM outbox_requests WHERE id = ${request.id}
    ON CONFLICT DO NOTHING`;
}

/** The outer conditions repeat the inner ones, because another server may claim a row in between. */
async function claimSome(
  sql: TransactionSQL,
  { endpoint, limit, nowMs, untilMs }: WantedRequests & Omit<OutboxClaimOptions, 'wanted'>,
): Promise<readonly ClaimedRequest[]> {
  // MATERIALIZED: otherwise PostgreSQL may evaluate it several times, and lock other rows each time.
  const rows: ClaimedRow[] = await sql`
    WITH due AS MATERIALIZED (
      SELECT id FROM outbox_requests
      WHERE finished_at IS NULL AND endpoint = ${endpoint}
        AND next_attempt_at <= ${nowMs} AND claimed_until <= ${nowMs}
      ORDER BY next_attempt_at, id LIMIT ${limit} ${skipLocked(sql)})
    UPDATE outbox_requests SET claimed_until = ${untilMs}
    WHERE finished_at IS NULL AND claimed_until <= ${nowMs} AND id IN (SELECT id FROM due)
    RETURNING id, kind, owner_id, url, endpoint, events, created_at, body_bytes, attempts, tries,
      first_try_at`;
  return rows
    .map((row) => ({
      ...requestOf(row),
      attempts: row.attempts,
      tries: row.tries,
      firstTryAtMs: row.first_try_at === null ? undefined : Number(row.first_try_at),
      claimedUntilMs: untilMs,
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** When the next request outside this claim is due. Reads all that waits for the endpoint. */
async function nextDue(
  sql: TransactionSQL,
  endpoint: string,
  untilMs: number,
): Promise<number | undefined> {
  const rows: { due: BigInteger | null }[] = await sql`
    SELECT MIN(CASE WHEN claimed_until > next_attempt_at THEN claimed_until ELSE next_attempt_at END)
      AS due
    FROM outbox_requests
    WHERE finished_at IS NULL AND endpoint = ${endpoint} AND claimed_until < ${untilMs}
      AND next_attempt_at < ${BLOCKED_MS}`;
  const due = rows[0]?.due;
  return due === null || due === undefined ? undefined : Number(due);
}
