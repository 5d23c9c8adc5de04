import type { SQL, TransactionSQL } from 'bun';
import type { Database } from '../database/database.ts';
import { revisionOf } from '../database/revisions.ts';
import { forgetLeftovers, forgetRequests, lockTenants } from './leftovers.ts';

/** A stored instance. `settings` contains only what differs from the defaults, as in the configuration. */
export interface StoredInstance {
  /** A UUID in lower case. */
  readonly id: string;
  readonly name: string;
  /** The oldest first. */
  readonly secretKeys: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The parts of an instance that can be changed, besides its secret keys. */
export type InstanceChange = Pick<StoredInstance, 'name' | 'settings'>;

interface InstanceRow {
  readonly id: string;
  readonly name: string;
  readonly settings: string;
}

/** One row for each secret key of an instance; one without a key if it has none. */
interface InstanceKeyRow extends InstanceRow {
  readonly secret: string | null;
}

/**
 * Instances in the store's tables, and the numbers by which other tables refer to instances. Several processes may use
 * one store; see `revision`.
 */
export class StoredInstances {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** The oldest first. */
  async list(): Promise<readonly StoredInstance[]> {
    // In one statement, so that no instance is seen without its keys.
    const rows: InstanceKeyRow[] = await this.database.read`
      SELECT i.id, i.name, i.settings, k.secret
      FROM instances i LEFT JOIN instance_keys k ON k.instance_id = i.id
      ORDER BY i.created_at, i.id, k.position`;
    return instancesOf(rows);
  }

  async get(id: string): Promise<StoredInstance | undefined> {
    const rows: InstanceKeyRow[] = await this.database.read`
      SELECT i.id, i.name, i.settings, k.secret
      FROM instances i LEFT JOIN instance_keys k ON k.instance_id = i.id
      WHERE i.id = ${id} ORDER BY k.position`;
    return instancesOf(rows)[0];
  }

  /** Creates an instance; `false` if there is one with this id. */
  async create(instance: StoredInstance, nowMs: number): Promise<boolean> {
    const tenant = { noun: 'instance', id: instance.id } as const;
    // A server that learned late of a deletion may have written some after it.
    if ((await this.get(instance.id)) === undefined) await forgetRequests(this.database, tenant);
    return await this.change(async (sql) => {
      const others: unknown[] = await sql`SELECT 1 FROM instances WHERE id = ${instance.id}`;
      if (others.length > 0) return false;
      await forgetLeftovers(sql, tenant);
      await insert(sql, instance, nowMs);
      return true;
    }, lockTenants);
  }

  /** Creates the first instance; `false` if there is one already. */
  createFirst(instance: StoredInstance, nowMs: number): Promise<boolean> {
    return this.change(async (sql) => {
      const others: unknown[] = await sql`SELECT 1 FROM instances LIMIT 1`;
      if (others.length > 0) return false;
      await insert(sql, instance, nowMs);
      return true;
    });
  }

  /** Changes an instance; `false` if there is no such instance. */
  update(id: string, changed: (instance: InstanceChange) => InstanceChange): Promise<boolean> {
    return this.change(async (sql) => {
      const [row]: InstanceRow[] = await sql`
        SELECT id, name, settings FROM instances WHERE id = ${id}`;
      if (row === undefined) return false;
      const { name, settings } = changed({ name: row.name, settings: JSON.parse(row.settings) });
      await sql`UPDATE instances SET name = ${name}, settings = ${JSON.stringify(settings)}
        WHERE id = ${id}`;
      return true;
    });
  }

  /** Adds a secret key. `false` if there is no such instance. */
  addKey(id: string, secret: string): Promise<boolean> {
    return this.change(async (sql) => {
      const { count } = await sql`INSERT INTO instance_keys (instance_id, secret, position)
        SELECT id, ${secret},
          (SELECT COALESCE(MAX(position), -1) + 1 FROM instance_keys WHERE instance_id = ${id})
        FROM instances WHERE id = ${id}`;
      return count > 0;
    });
  }

  /** Removes a secret key, but never the last one. */
  removeKey(id: string, secret: string): Promise<'removed' | 'unknown' | 'last'> {
    return this.change(async (sql) => {
      const keys: { readonly secret: string }[] = await sql`
        SELECT secret FROM instance_keys WHERE instance_id = ${id}`;
      if (!keys.some((key) => key.secret === secret)) return 'unknown';
      if (keys.length === 1) return 'last';
      await sql`DELETE FROM instance_keys WHERE instance_id = ${id} AND secret = ${secret}`;
      return 'removed';
    });
  }

  /**
   * Deletes an instance and all that names it, and returns the number of its devices; `undefined` if there is no such
   * instance. Its rows are unreachable from then on, and left to the garbage collector; push rules of apps and webhook
   * requests are deleted now. An instance from the configuration, which has only a number, can be deleted too.
   */
  async delete(id: string): Promise<number | undefined> {
    const tenant = { noun: 'instance', id } as const;
    const devices = await this.change(async (sql) => {
      const [row]: { readonly devices: number }[] = await sql`
        SELECT devices FROM instance_numbers WHERE id = ${id}`;
      await sql`UPDATE instance_numbers SET id = NULL WHERE id = ${id}`;
      const removed = await sql`DELETE FROM instances WHERE id = ${id}`;
      await forgetLeftovers(sql, tenant);
      return row === undefined && removed.count === 0 ? undefined : Number(row?.devices ?? 0);
    }, lockTenants);
    await forgetRequests(this.database, tenant);
    return devices;
  }

  /** The number of an instance, assigned at the first call. */
  async numberOf(id: string): Promise<number> {
    return (
      (await numberIn(this.database.read, id)) ??
      (await this.database.write(async (sql) => {
        // Another server may assign one at the same moment: then this is used.
        await sql`INSERT INTO instance_numbers (id, devices) VALUES (${id}, 0)
          ON CONFLICT (id) DO NOTHING`;
        const number = await numberIn(sql, id);
        if (number === undefined) throw new Error(`instance ${id} got no number`);
        return number;
      }))
    );
  }

  /** The number of an instance that has one. */
  findNumber(id: string): Promise<number | undefined> {
    return numberIn(this.database.read, id);
  }

  /** Increased by each change, also of other processes, so that servers can tell when to read again. */
  revision(): Promise<number> {
    return revisionOf(this.database.read, 'instances');
  }

  private change<T>(
    statements: (sql: TransactionSQL) => Promise<T>,
    lock?: (sql: TransactionSQL) => Promise<void>,
  ): Promise<T> {
    return this.database.write(async (sql) => {
      await lock?.(sql);
      // First, because it locks: other processes cannot change what the statements read.
      await sql`UPDATE revisions SET revision = revision + 1 WHERE what = 'instances'`;
      return await statements(sql);
    }, 'admin');
  }
}

async function insert(
  sql: TransactionSQL,
  { id, name, secretKeys, settings }: StoredInstance,
  nowMs: number,
): Promise<void> {
  await sql`INSERT INTO instances (id, name, settings, created_at)
    VALUES (${id}, ${name}, ${JSON.stringify(settings)}, ${nowMs})`;
  for (const [position, secret] of secretKeys.entries()) {
    await sql`INSERT INTO instance_keys (instance_id, secret, position)
      VALUES (${id}, ${secret}, ${position})`;
  }
}

/** Groups the rows of each instance, in the order of the rows. */
function instancesOf(rows: readonly InstanceKeyRow[]): readonly StoredInstance[] {
  return [...Map.groupBy(rows, ({ id }) => id).values()].flatMap(([row, ...more]) => {
    if (row === undefined) return [];
    const { id, name, settings } = row;
    const secretKeys = [row, ...more].flatMap(({ secret }) => secret ?? []);
    return [{ id, name, secretKeys, settings: JSON.parse(settings) }];
  });
}

async function numberIn(sql: SQL, id: string): Promise<number | undefined> {
  const [row]: { readonly number: number }[] = await sql`
    SELECT number FROM instance_numbers WHERE id = ${id}`;
  return row === undefined ? undefined : Number(row.number);
}
