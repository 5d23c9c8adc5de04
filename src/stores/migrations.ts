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
