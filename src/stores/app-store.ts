import type { SQL, TransactionSQL } from 'bun';
import type { AppKey } from '../channels/app.ts';

/** An app as the store keeps it. `settings` holds what differs from the defaults, as in the configuration. */
export interface StoredApp {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  /** The oldest first: it signs webhooks. */
  readonly keys: readonly AppKey[];
  readonly settings: Readonly<Record<string, unknown>>;
}

interface AppRow {
  readonly id: string;
  readonly name: string;
  readonly enabled: number;
  readonly settings: string;
}

interface KeyRow {
  readonly app_key: string;
  readonly app_id: string;
  readonly secret: string;
}

/** The apps that are kept in the store. Several processes may use one store; see `revision`. */
export class AppStore {
  private readonly sql: SQL;

  constructor(sql: SQL) {
    this.sql = sql;
  }

  /** In the order in which they were created. */
  async list(): Promise<readonly StoredApp[]> {
    const apps: AppRow[] = await this.sql`
      SELECT id, name, enabled, settings FROM apps ORDER BY created_at, id`;
    const keys: KeyRow[] = await this.sql`
      SELECT app_key, app_id, secret FROM app_keys ORDER BY app_id, position`;
    const keysOf = Map.groupBy(keys, ({ app_id }) => app_id);
    return apps.map(({ id, name, enabled, settings }) => ({
      id,
      name,
      enabled: enabled !== 0,
      keys: (keysOf.get(id) ?? []).map(({ app_key, secret }) => ({ key: app_key, secret })),
      settings: JSON.parse(settings),
    }));
  }

  async get(id: string): Promise<StoredApp | undefined> {
    return (await this.list()).find((app) => app.id === id);
  }

  /** Throws when the id or the key is taken. */
  async create(app: StoredApp, nowMs: number): Promise<void> {
    await this.change(async (sql) => {
      await sql`INSERT INTO apps (id, name, enabled, settings, created_at)
        VALUES (${app.id}, ${app.name}, ${app.enabled ? 1 : 0}, ${JSON.stringify(app.settings)}, ${nowMs})`;
      for (const [position, { key, secret }] of app.keys.entries()) {
        await sql`INSERT INTO app_keys (app_key, app_id, secret, position)
          VALUES (${key}, ${app.id}, ${secret}, ${position})`;
      }
    });
  }

  /** Changes an app by what it is; `false` where there is no such app. */
  async update(
    id: string,
    changed: (app: Omit<StoredApp, 'keys'>) => Pick<StoredApp, 'name' | 'enabled' | 'settings'>,
  ): Promise<boolean> {
    return await this.change(async (sql) => {
      const [row]: AppRow[] = await sql`
        SELECT id, name, enabled, settings FROM apps WHERE id = ${id}`;
      if (row === undefined) return false;
      const { name, enabled, settings } = changed({
        id,
        name: row.name,
        enabled: row.enabled !== 0,
        settings: JSON.parse(row.settings),
      });
      await sql`UPDATE apps SET name = ${name}, enabled = ${enabled ? 1 : 0},
        settings = ${JSON.stringify(settings)} WHERE id = ${id}`;
      return true;
    });
  }

  /** Gives the app one more pair; those it has stay valid. */
  async addKey(id: string, { key, secret }: AppKey): Promise<void> {
    await this.change(
      (sql) => sql`INSERT INTO app_keys (app_key, app_id, secret, position)
        SELECT ${key}, ${id}, ${secret}, MAX(position) + 1 FROM app_keys WHERE app_id = ${id}`,
    );
  }

  /** Takes a pair away; `false` where the app has no such key. */
  async removeKey(id: string, key: string): Promise<boolean> {
    return this.changedAny(
      (sql) => sql`DELETE FROM app_keys WHERE app_id = ${id} AND app_key = ${key}`,
    );
  }

  /** `false` where there is no such app. */
  async setEnabled(id: string, enabled: boolean): Promise<boolean> {
    return this.changedAny(
      (sql) => sql`UPDATE apps SET enabled = ${enabled ? 1 : 0} WHERE id = ${id}`,
    );
  }

  /** `false` where there is no such app. */
  async delete(id: string): Promise<boolean> {
    return this.changedAny((sql) => sql`DELETE FROM apps WHERE id = ${id}`);
  }

  /** Grows with each change by whomever, so that a running server sees when to look again. */
  async revision(): Promise<number> {
    const rows: { revision: number }[] = await this.sql`
      SELECT revision FROM revisions WHERE what = 'apps'`;
    return Number(rows[0]?.revision ?? 0);
  }

  private async changedAny(
    statement: (sql: TransactionSQL) => Promise<{ count: number }>,
  ): Promise<boolean> {
    return (await this.change(statement)).count > 0;
  }

  private async change<T>(statements: (sql: TransactionSQL) => Promise<T>): Promise<T> {
    return await this.sql.begin(async (sql) => {
      // First, because it locks: what the statements then read is not changed by anybody else.
      await sql`UPDATE revisions SET revision = revision + 1 WHERE what = 'apps'`;
      return await statements(sql);
    });
  }
}
