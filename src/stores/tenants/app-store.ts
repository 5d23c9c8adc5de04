import type { TransactionSQL } from 'bun';
import type { AppKey } from '../../channels/app.ts';
import type { Database } from '../database/database.ts';
import { revisionOf } from '../database/revisions.ts';
import type { BigInteger } from '../database/rows.ts';
import { forgetLeftovers, forgetRequests, lockTenants } from './leftovers.ts';

/** A stored app. `settings` contains only what differs from the defaults, as in the configuration. */
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

/** One row for each key of an app; one without a key if it has none. */
interface AppKeyRow extends AppRow {
  readonly app_key: string | null;
  readonly secret: string | null;
}

/** Apps in the store's tables. Several processes may use one store; see `revision`. */
export class AppStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** The oldest first. */
  async list(): Promise<readonly StoredApp[]> {
    const rows: AppKeyRow[] = await this.database.read`
      SELECT id, name, enabled, settings, app_key, secret
      FROM apps LEFT JOIN app_keys ON app_id = id ORDER BY created_at, id, position`;
    return appsOf(rows);
  }

  async get(id: string): Promise<StoredApp | undefined> {
    const rows: AppKeyRow[] = await this.database.read`
      SELECT id, name, enabled, settings, app_key, secret
      FROM apps LEFT JOIN app_keys ON app_id = id WHERE id = ${id} ORDER BY position`;
    return appsOf(rows)[0];
  }

  /** Creates an app, unless another one has its id or one of its keys. */
  async create(app: StoredApp, nowMs: number): Promise<'created' | 'id-taken' | 'key-taken'> {
    const tenant = { noun: 'app', id: app.id } as const;
    // A server that learned late of a deletion may have written some after it.
    if ((await this.get(app.id)) === undefined) await forgetRequests(this.database, tenant);
    return await this.change(async (sql) => {
      const sameId: unknown[] = await sql`SELECT 1 FROM apps WHERE id = ${app.id}`;
      if (sameId.length > 0) return 'id-taken';
      for (const { key } of app.keys) {
        const sameKey: unknown[] = await sql`SELECT 1 FROM app_keys WHERE app_key = ${key}`;
        if (sameKey.length > 0) return 'key-taken';
      }
      await forgetLeftovers(sql, tenant);
      await insert(sql, app, nowMs);
      return 'created';
    }, lockTenants);
  }

  /** Creates the first app; `false` if there is one already. */
  async createFirst(app: StoredApp, nowMs: number): Promise<boolean> {
    return await this.change(async (sql) => {
      const others: unknown[] = await sql`SELECT 1 FROM apps LIMIT 1`;
      if (others.length > 0) return false;
      await insert(sql, app, nowMs);
      return true;
    });
  }

  /** Changes an app; `false` if there is no such app. */
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

  /** Adds a key. `false` if there is no such app. */
  addKey(id: string, { key, secret }: AppKey): Promise<boolean> {
    return this.changedAny(
      (sql) => sql`INSERT INTO app_keys (app_key, app_id, secret, position)
        SELECT ${key}, id, ${secret},
          (SELECT COALESCE(MAX(position), -1) + 1 FROM app_keys WHERE app_id = ${id})
        FROM apps WHERE id = ${id}`,
    );
  }

  /** Removes a key, but never the last one of an app. */
  removeKey(id: string, key: string): Promise<'removed' | 'unknown' | 'last'> {
    return this.change(async (sql) => {
      const keys: { readonly app_key: string }[] = await sql`
        SELECT app_key FROM app_keys WHERE app_id = ${id}`;
      if (!keys.some((pair) => pair.app_key === key)) return 'unknown';
      if (keys.length === 1) return 'last';
      await sql`DELETE FROM app_keys WHERE app_id = ${id} AND app_key = ${key}`;
      return 'removed';
    });
  }

  /** `false` if there is no such app. */
  async setEnabled(id: string, enabled: boolean): Promise<boolean> {
    return this.changedAny(
      (sql) => sql`UPDATE apps SET enabled = ${enabled ? 1 : 0} WHERE id = ${id}`,
    );
  }

  /**
   * Deletes an app and all that names it: usage, webhook requests, links of instances. Also deletes what an app of the
   * configuration has left. `false` if there is neither.
   */
  async delete(id: string): Promise<boolean> {
    const tenant = { noun: 'app', id } as const;
    const isFound = await this.change(async (sql) => {
      const { count } = await sql`DELETE FROM apps WHERE id = ${id}`;
      return (await forgetLeftovers(sql, tenant)) || count > 0;
    }, lockTenants);
    return (await forgetRequests(this.database, tenant)) > 0 || isFound;
  }

  /** When each app was created. An id with another time is that of another app. */
  async incarnations(): Promise<ReadonlyMap<string, number>> {
    const rows: { readonly id: string; readonly created_at: BigInteger }[] = await this.database
      .read`SELECT id, created_at FROM apps`;
    return new Map(rows.map((row) => [row.id, Number(row.created_at)]));
  }

  /** Increased by each change, also of other processes, so that servers can tell when to read again. */
  revision(): Promise<number> {
    return revisionOf(this.database.read, 'apps');
  }

  private async changedAny(
    statement: (sql: TransactionSQL) => Promise<{ count: number }>,
  ): Promise<boolean> {
    return (await this.change(statement)).count > 0;
  }

  private async change<T>(
    statements: (sql: TransactionSQL) => Promise<T>,
    lock?: (sql: TransactionSQL) => Promise<void>,
  ): Promise<T> {
    return await this.database.write(async (sql) => {
      await lock?.(sql);
      // First, because it locks: other processes cannot change what the statements read.
      await sql`UPDATE revisions SET revision = revision + 1 WHERE what = 'apps'`;
      return await statements(sql);
    }, 'admin');
  }
}

/** Groups the rows of each app, in the order of the rows. */
function appsOf(rows: readonly AppKeyRow[]): readonly StoredApp[] {
  const apps = new Map<string, StoredApp & { readonly keys: AppKey[] }>();
  for (const { id, name, enabled, settings, app_key, secret } of rows) {
    let app = apps.get(id);
    if (app === undefined) {
      app = { id, name, enabled: enabled !== 0, keys: [], settings: JSON.parse(settings) };
      apps.set(id, app);
    }
    if (app_key !== null && secret !== null) app.keys.push({ key: app_key, secret });
  }
  return [...apps.values()];
}

async function insert(sql: TransactionSQL, app: StoredApp, nowMs: number): Promise<void> {
  await sql`INSERT INTO apps (id, name, enabled, settings, created_at)
    VALUES (${app.id}, ${app.name}, ${app.enabled ? 1 : 0}, ${JSON.stringify(app.settings)}, ${nowMs})`;
  for (const [position, { key, secret }] of app.keys.entries()) {
    await sql`INSERT INTO app_keys (app_key, app_id, secret, position)
      VALUES (${key}, ${app.id}, ${secret}, ${position})`;
  }
}
