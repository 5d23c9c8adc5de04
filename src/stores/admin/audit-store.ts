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

/** Keeps the newest entries of the audit log. */
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

  /** Keeps this many of the newest. */
  async trim(keep: number): Promise<void> {
    await this.database.write(
      (sql) => sql`DELETE FROM audit_entries WHERE id <= (
        SELECT id FROM audit_entries ORDER BY id DESC LIMIT 1 OFFSET ${keep})`,
      'admin',
    );
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
