import type { Database } from './database.ts';

/**
 * Names the file of the histories of the last clean stop. A file from before that, or from a store of before, has another name
 * inside and is not used.
 */
export class SavedHistoriesToken {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Returns the name and forgets it; `undefined` if there was no clean stop since the last start. */
  async take(): Promise<string | undefined> {
    const rows = await this.database.write(async (sql) => {
      const taken: { token: string }[] = await sql`DELETE FROM saved_histories RETURNING token`;
      return taken;
    });
    return rows[0]?.token;
  }

  async set(token: string): Promise<void> {
    await this.database.write(async (sql) => {
      await sql`DELETE FROM saved_histories`;
      await sql`INSERT INTO saved_histories (token) VALUES (${token})`;
    });
  }
}
