import type { SQL, TransactionSQL } from 'bun';
import type { Database } from '../database/database.ts';
import type { BigInteger } from '../database/rows.ts';

/** An action through the admin API, and how often it was repeated within a short time. */
export interface AuditEntry {
  /** Ids sort by the time at which they were made. */
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly times: number;
  /** Empty for a log-in with the password. */
  readonly user: string;
  readonly how: string;
  readonly address: string;
  readonly operation: string;
  /** The id of the affected app, instance or webhook; empty if there is none. */
  readonly subject: string;
  /** The names of the changed settings. */
  readonly detail: string;
  /** The status of the answer. */
  readonly status: number;
}

interface AuditRow {
  readonly id: string;
  readonly first_at: BigInteger;
  readonly last_at: BigInteger;
  readonly times: BigInteger;
  readonly user_name: string;
  readonly how: string;
  readonly address: string;
  readonly operation: string;
  readonly subject: string;
  readonly detail: string;
  readonly status: number;
}

/** How many entries are kept of what was done, and of what was refused. */
export interface AuditRoom {
  readonly done: number;
  readonly refused: number;
}

/** Keeps the newest entries of the audit log. Refusals have room of their own, so that they displace nothing else. */
export class AuditStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Adds an entry. If there is one with its id, counts it once more. */
  async add(entry: AuditEntry): Promise<void> {
    const { id, firstAtMs, lastAtMs, times, user, how, address, operation } = entry;
    const { subject, detail, status } = entry;
    await this.database.write(
      (sql) => sql`INSERT INTO audit_entries
        (id, first_at, last_at, times, user_name, how, address, operation, subject, detail, status)
        VALUES (${id}, ${firstAtMs}, ${lastAtMs}, ${times}, ${user}, ${how}, ${address}, ${operation},
          ${subject}, ${detail}, ${status})
        ON CONFLICT (id) DO UPDATE SET
          times = audit_entries.times + ${times}, last_at = ${lastAtMs}`,
      'admin',
    );
  }

  /** Removes what has no room. The user with the most entries loses the oldest of them first. */
  async trim({ done, refused }: AuditRoom): Promise<void> {
    await this.database.write(async (sql) => {
      await trimOne(sql, sql`status < 400`, done);
      await trimOne(sql, sql`status >= 400`, refused);
    }, 'admin');
  }

  /** The newest first. `before`: only entries older than the one with this id. */
  async list({
    limit,
    before,
  }: {
    readonly limit: number;
    readonly before: string | undefined;
  }): Promise<readonly AuditEntry[]> {
    const { read: sql } = this.database;
    const rows: AuditRow[] = await sql`SELECT * FROM audit_entries
      ${before === undefined ? sql`` : sql`WHERE id < ${before}`}
      ORDER BY id DESC LIMIT ${limit}`;
    return rows.map(entryOf);
  }
}

async function trimOne(sql: TransactionSQL, kind: SQL.Query<unknown>, keep: number): Promise<void> {
  await sql`DELETE FROM audit_entries WHERE id IN (
    SELECT id FROM (
      SELECT id, ROW_NUMBER() OVER (ORDER BY place, id DESC) AS kept_as FROM (
        SELECT id, ROW_NUMBER() OVER (PARTITION BY user_name ORDER BY id DESC) AS place
        FROM audit_entries WHERE ${kind}
      ) AS by_user
    ) AS by_place WHERE kept_as > ${keep})`;
}

function entryOf(row: AuditRow): AuditEntry {
  const { id, user_name: user, how, address, operation, subject, detail, status } = row;
  return {
    id,
    firstAtMs: Number(row.first_at),
    lastAtMs: Number(row.last_at),
    times: Number(row.times),
    user,
    how,
    address,
    operation,
    subject,
    detail,
    status,
  };
}
