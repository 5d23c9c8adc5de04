import { SQL, type TransactionSQL } from 'bun';
import { errorWord, messageOf } from '../runtime/error-code.ts';
import { withoutTlsFiles } from '../runtime/postgres-url.ts';
import { withTimeout } from '../runtime/system-timers.ts';
import type { ClientTls } from '../runtime/tls/certificate.ts';
import type { Look, LookOptions, OutboxFigures, SourceOutbox } from './ports.ts';
import { BODY_BYTES_MAX, type OutboxResult, type OutboxRow, type RowKind } from './row.ts';
import { quoted } from './schema.ts';

/** Rows of one look. */
const ROWS_MAX = 500;
/** Bytes of bodies above which a look takes no further row. */
const LOOK_BYTES = 1_048_576;

/** Seconds to wait for a connection. */
const CONNECT_SECONDS = 5;
/** PostgreSQL cancels a statement after this time, and ends a transaction of ours after which nothing comes. Milliseconds. */
const STATEMENT_MS = 10_000;
const IDLE_MS = 5_000;
/** After this time this side stops waiting. Milliseconds. */
const ANSWER_MS = 20_000;

/** The first half of the number of our lock; the second half is made of the schema. */
const LOCK = 1_178_687_046;

/** How many rows are counted. */
const COUNTED_MAX = 10_000;
/** Failed rows that are kept, and for how long. */
const FAILED_MAX = 10_000;
const FAILED_DAYS = 7;

/** A database of an application cannot be used at the moment. The message is for the operator, and names no secret. */
class SourceAway extends Error {
  override readonly name = 'SourceAway';
}

export interface PostgresOutboxOptions {
  readonly url: string;
  readonly tls: ClientTls;
  /** A plain name, which needs no quotes. */
  readonly schema: string;
  /** A monotonic clock. */
  readonly now: () => number;
}

/**
 * The outbox in the database of an application. Each call is one transaction that begins with all settings it needs, and its
 * statements have no names, so that a pooler may give each transaction another connection.
 */
export class PostgresOutbox implements SourceOutbox {
  private readonly options: PostgresOutboxOptions;
  /** The table, as statements name it. */
  private readonly outbox: string;
  private sql: SQL | undefined;
  private tls: ClientTls;

  constructor(options: PostgresOutboxOptions) {
    this.options = options;
    this.outbox = `${quoted(options.schema)}.outbox`;
    this.tls = options.tls;
  }

  async look(
    options: LookOptions,
    send: (rows: readonly OutboxRow[]) => Promise<readonly OutboxResult[]>,
  ): Promise<Look> {
    return await this.begin(async (transaction) => {
      const { schema, now } = this.options;
      const [{ held } = { held: false }] = (await transaction.unsafe(
        `SELECT pg_try_advisory_xact_lock(${LOCK}, hashtext('${schema}')) AS held`,
      )) as { held: boolean }[];
      if (!held) return 'followed-elsewhere';
      const beganMs = now();
      // Another statement than that of the lock: it must see what the follower before us has deleted.
      const found = (await transaction.unsafe(rowsSql(this.outbox, options))) as FoundRow[];
      const readMs = now() - beganMs;
      const rows = rowsOf(found);
      const results = rows.length === 0 ? [] : await send(rows);
      await this.settle(transaction, rows, results);
      const [first] = found;
      const running = runningIn(first?.snapshot ?? '');
      return { rows, results, isFull: first?.is_full ?? false, running, readMs };
    });
  }

  async figures(): Promise<OutboxFigures> {
    return await this.begin(async (transaction) => {
      const [row] = (await transaction.unsafe(figuresSql(this.outbox))) as FiguresRow[];
      return {
        lagSeconds: Math.max(0, Number(row?.lag ?? 0)),
        waiting: Number(row?.waiting ?? 0),
        failed: Number(row?.failed ?? 0),
        lastFailure: row?.last_failure ?? undefined,
      };
    });
  }

  async tidy(): Promise<void> {
    await this.begin(async (transaction) => {
      await transaction.unsafe(tidySql(this.outbox));
    });
  }

  /** Sets what the next connection uses. */
  useTls(tls: ClientTls): void {
    this.tls = tls;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  /** Deletes what was sent, and marks what can never be. */
  private async settle(
    transaction: TransactionSQL,
    rows: readonly OutboxRow[],
    results: readonly OutboxResult[],
  ): Promise<void> {
    const { outbox } = this;
    const sent = rows.filter((_, place) => results[place]?.result === 'sent').map(({ id }) => id);
    const failed = rows.flatMap(({ id }, place) => {
      const one = results[place];
      return one?.result === 'failed' ? [{ id: String(id), why: printable(one.why) }] : [];
    });
    if (sent.length > 0) {
      await transaction.unsafe(`DELETE FROM ${outbox} WHERE id IN (${sent.join(',')})`);
    }
    if (failed.length > 0) {
      await transaction.unsafe(
        `UPDATE ${outbox} AS o SET failed = f.why
          FROM json_to_recordset($1::json) AS f (id bigint, why text) WHERE o.id = f.id`,
        [JSON.stringify(failed)],
      );
    }
  }

  /** Runs a transaction. If anything fails, the connection is given up, and `SourceAway` is thrown. */
  private async begin<T>(work: (transaction: TransactionSQL) => Promise<T>): Promise<T> {
    const sql = this.connect();
    try {
      const done = sql.begin('ISOLATION LEVEL READ COMMITTED READ WRITE', async (transaction) => {
        await transaction.unsafe(SETTINGS);
        return await work(transaction);
      });
      return await withTimeout(ANSWER_MS, done as Promise<T>, () => {
        throw new SourceAway(`no answer in ${ANSWER_MS / 1000} s`);
      });
    } catch (error) {
      await this.disconnect();
      if (error instanceof SourceAway) throw error;
      if (error instanceof SQL.SQLError) throw new SourceAway(whyAway(error, this.options.schema));
      throw error;
    }
  }

  private connect(): SQL {
    if (this.sql !== undefined) return this.sql;
    const { ca, certificate } = this.tls;
    const files = { ...(ca === undefined ? {} : { ca }), ...certificate };
    this.sql = new SQL(withoutTlsFiles(this.options.url), {
      // With any such option, Bun uses TLS without being asked for it.
      ...(Object.keys(files).length === 0 ? {} : { tls: files }),
      max: 1,
      connectionTimeout: CONNECT_SECONDS,
      prepare: false,
      connection: { application_name: 'fanfare' },
    });
    return this.sql;
  }

  private async disconnect(): Promise<void> {
    const { sql } = this;
    this.sql = undefined;
    // It has failed already, or nobody uses it any more.
    await sql?.close({ timeout: 0 }).catch(() => undefined);
  }
}

/** Functions, operators and types are those of PostgreSQL, whatever the role has in its `search_path`. */
const SETTINGS = [
  'SET LOCAL search_path = pg_catalog, pg_temp',
  `SET LOCAL statement_timeout = ${STATEMENT_MS}`,
  `SET LOCAL lock_timeout = 0`,
  `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS}`,
].join('; ');

interface FoundRow {
  readonly snapshot: string;
  /** Like the others, `null` in the only row of a look that has found nothing. */
  readonly row_id: string | null;
  readonly kind: RowKind;
  readonly key: string;
  readonly body: string | null;
  readonly is_full: boolean;
}

function rowsOf(found: readonly FoundRow[]): readonly OutboxRow[] {
  return found.flatMap(({ row_id, kind, key, body }) =>
    row_id === null ? [] : [{ id: BigInt(row_id), kind, key, body: body ?? undefined }],
  );
}

/** The running transactions in the text of a snapshot: its first one, the end, and a list. */
function runningIn(snapshot: string): readonly string[] {
  return (snapshot.split(':')[2] ?? '').split(',').filter((id) => id !== '');
}

/**
 * The next rows. The length of a body is known without reading it, so bodies that are too long stay in the database; the others
 * together have at most twice the bytes of a look. The id as text has another name: `ORDER BY id` would sort the text. Which
 * transactions have ended must be known of the same snapshot that the rows are read in.
 */
function rowsSql(outbox: string, { after, running, kinds }: LookOptions): string {
  const listed = kinds.map((kind) => `'${kind}'`).join(', ');
  const earlier = [...running].map(([id, from]) => `(${id}, ${from})`).join(', ');
  const ended = `SELECT min(t.since) FROM (VALUES ${earlier}) AS t (id, since)
    WHERE txid_visible_in_snapshot(t.id::bigint, txid_current_snapshot())`;
  const from = earlier === '' ? `${after}` : `least(${after}, (${ended}))`;
  return `
    SELECT s.snapshot, o.id::text AS row_id, o.kind, o.key, o.body, o.is_full
    FROM (SELECT txid_current_snapshot()::text AS snapshot) AS s LEFT JOIN LATERAL (
      SELECT q.id, q.kind, concat('source:', d.oid, '.', q.table_id, ':', q.id, ':',
          (extract(epoch FROM q.at) * 1000000)::bigint) AS key,
        CASE WHEN q.bytes <= ${BODY_BYTES_MAX} THEN q.body END AS body, q.is_full
      FROM (
        SELECT r.*, sum(r.counted) OVER (ORDER BY r.id) - r.counted AS before,
          (count(*) OVER () = ${ROWS_MAX} OR sum(r.counted) OVER () > ${LOOK_BYTES}) AS is_full
        FROM (
          SELECT id, kind, at, body, tableoid AS table_id, octet_length(body) AS bytes,
            CASE WHEN octet_length(body) <= ${BODY_BYTES_MAX} THEN octet_length(body) ELSE 0 END AS counted
          FROM ${outbox}
          WHERE id > (${from})::bigint AND failed IS NULL AND kind IN (${listed})
          ORDER BY id LIMIT ${ROWS_MAX}
        ) AS r
      ) AS q, pg_database AS d
      WHERE d.datname = current_database() AND q.before < ${LOOK_BYTES}
    ) AS o ON true
    ORDER BY o.id`;
}

interface FiguresRow {
  readonly lag: string | number | null;
  readonly waiting: string | number;
  readonly failed: string | number;
  readonly last_failure: string | null;
}

function figuresSql(outbox: string): string {
  const counted = (where: string) =>
    `(SELECT count(*)::text FROM (SELECT 1 FROM ${outbox} WHERE ${where} LIMIT ${COUNTED_MAX}) AS counted)`;
  return `
    SELECT (SELECT extract(epoch FROM clock_timestamp() - at)::text FROM ${outbox}
        WHERE failed IS NULL ORDER BY id LIMIT 1) AS lag,
      ${counted('failed IS NULL')} AS waiting, ${counted('failed IS NOT NULL')} AS failed,
      (SELECT left(failed, 500) FROM ${outbox} WHERE failed IS NOT NULL
        ORDER BY id DESC LIMIT 1) AS last_failure`;
}

function tidySql(outbox: string): string {
  return `
    DELETE FROM ${outbox} WHERE id IN (
      SELECT id FROM ${outbox} WHERE failed IS NOT NULL AND (
        at < clock_timestamp() - interval '${FAILED_DAYS} days'
        OR id <= (SELECT id FROM ${outbox} WHERE failed IS NOT NULL
          ORDER BY id DESC OFFSET ${FAILED_MAX} LIMIT 1)
      ) ORDER BY id LIMIT 1000
    )`;
}

/** PostgreSQL cannot store this character. */
function printable(text: string): string {
  return text.replaceAll('\0', '').slice(0, 1_000);
}

/** What PostgreSQL answers if the SQL of the outbox was not run, or not all of it. Source: its Appendix A. */
const LACKS_SQL = ['3F000', '42P01', '42703', '42883'];

/** Only what PostgreSQL itself says is repeated: errors of the client may quote the URL. */
function whyAway(error: unknown, schema: string): string {
  const state = error instanceof SQL.PostgresError ? String(error.errno ?? '') : '';
  if (!/^[0-9A-Z]{5}$/.test(state)) return errorWord(error);
  const said = `${messageOf(error)} (${state})`;
  if (LACKS_SQL.includes(state)) {
    return `${said}. Run there what \`fanfare source sql --schema ${schema}\` prints`;
  }
  if (state === '42501') {
    return `${said}. The role needs USAGE on ${schema}, and SELECT, DELETE and UPDATE (failed) on ${schema}.outbox`;
  }
  if (state === '25006') return `${said}. Name the primary: rows that were sent must be deleted`;
  return said;
}
