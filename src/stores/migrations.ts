import type { SQL, TransactionSQL } from 'bun';

/**
 * The changes that make the tables, in order; the number of one is its place, from 1. One that was released
 * is never changed: add another.
 */
const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE apps (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      enabled INTEGER NOT NULL,
      settings TEXT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    `CREATE TABLE app_keys (
      app_key TEXT PRIMARY KEY,
      app_id TEXT NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
      secret TEXT NOT NULL,
      position INTEGER NOT NULL
    )`,
    'CREATE INDEX app_keys_by_app ON app_keys (app_id, position)',
    // One row per kind of thing that is kept in memory elsewhere; its number grows with each change.
    'CREATE TABLE revisions (what TEXT PRIMARY KEY, revision BIGINT NOT NULL)',
    "INSERT INTO revisions (what, revision) VALUES ('apps', 0)",
  ],
  [
    // Requests that leave the server. What waits has no time at which it was finished, which both indexes
    // go by; small columns stand before the body, so that reading them does not read it.
    `CREATE TABLE outbox_requests (
      id TEXT PRIMARY KEY,
      kind TEXT NOT NULL,
      owner_id TEXT NOT NULL,
      url TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      state TEXT NOT NULL,
      reason TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      tries INTEGER NOT NULL,
      created_at BIGINT NOT NULL,
      first_try_at BIGINT,
      next_attempt_at BIGINT NOT NULL,
      claimed_until BIGINT NOT NULL,
      finished_at BIGINT,
      body_bytes BIGINT NOT NULL,
      body TEXT NOT NULL
    )`,
    `CREATE INDEX outbox_requests_waiting
      ON outbox_requests
        (endpoint, next_attempt_at, id, claimed_until, created_at, body_bytes, finished_at)
      WHERE finished_at IS NULL`,
    `CREATE INDEX outbox_requests_finished
      ON outbox_requests (finished_at, body_bytes) WHERE finished_at IS NOT NULL`,
    'CREATE INDEX outbox_requests_by_owner ON outbox_requests (owner_id, id)',
    `CREATE TABLE outbox_attempts (
      request_id TEXT NOT NULL REFERENCES outbox_requests (id) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      at BIGINT NOT NULL,
      duration_ms BIGINT NOT NULL,
      outcome TEXT NOT NULL,
      status INTEGER,
      answer TEXT NOT NULL,
      PRIMARY KEY (request_id, number)
    )`,
  ],
  [
    `CREATE TABLE usage_days (
      app_id TEXT NOT NULL,
      day TEXT NOT NULL,
      messages BIGINT NOT NULL,
      PRIMARY KEY (app_id, day)
    )`,
  ],
];

/** Applies what is missing, all of it or nothing. */
export async function migrate(sql: SQL): Promise<void> {
  await sql.unsafe('CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)');
  await sql.begin(async (transaction) => {
    const done = await lastMigration(transaction);
    if (done > migrations.length) {
      throw new Error(
        `it was made by a newer version (migration ${done}, this one knows ${migrations.length})`,
      );
    }
    for (const [index, statements] of migrations.entries()) {
      const number = index + 1;
      if (number <= done) continue;
      for (const statement of statements) await transaction.unsafe(statement);
      await transaction`INSERT INTO migrations (number) VALUES (${number})`;
    }
  });
}

async function lastMigration(sql: TransactionSQL): Promise<number> {
  const rows: { last: number | null }[] = await sql`SELECT MAX(number) AS last FROM migrations`;
  return rows[0]?.last ?? 0;
}
