import { SQL } from 'bun';
import { NO_CLIENT_TLS } from '../../src/runtime/tls/certificate.ts';
import { PostgresOutbox } from '../../src/sources/outbox.ts';
import { outboxSql } from '../../src/sources/schema.ts';
import { ODD_DEFAULTS, throwAwayPostgres } from './postgres.ts';

/** The database of an application, with an outbox. */
export interface SourceDatabase extends AsyncDisposable {
  readonly url: string;
  /** Connections of the application. */
  readonly sql: SQL;
}

/** Makes the database of an application, with odd defaults. */
export async function newSourceDatabase(schema = 'fanfare'): Promise<SourceDatabase> {
  const database = await throwAwayPostgres(ODD_DEFAULTS);
  const sql = new SQL(database.url, { max: 8, connection: { lock_timeout: 0 } });
  await sql.unsafe(outboxSql(schema));
  return {
    url: database.url,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.close({ timeout: 0 });
      await database[Symbol.asyncDispose]();
    },
  };
}

export function outboxAt(url: string, schema = 'fanfare'): PostgresOutbox {
  return new PostgresOutbox({ url, schema, tls: NO_CLIENT_TLS, now: () => performance.now() });
}
