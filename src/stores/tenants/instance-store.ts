import type { SQL, TransactionSQL } from 'bun';
import type { Database } from '../database/database.ts';
import { revisionOf } from '../database/revisions.ts';

/** An instance as the store keeps it. `settings` holds what differs from the defaults, as in the configuration. */
export interface StoredInstance {
  /** A UUID in lower case. */
  readonly id: string;
  readonly name: string;
  /** The oldest first. */
  readonly secretKeys: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** What can be changed of an instance, beside its secret keys. */
export type InstanceChange = Pick<StoredInstance, 'name' | 'settings'>;

interface InstanceRow {
  readonly id: string;
  readonly name: string;
  readonly settings: string;
}

/** One row for each secret key of an instance; one without a key where it has none. */
interface InstanceKeyRow extends InstanceRow {
  readonly secret: string | null;
}

/**
 * The instances that are kept in the store, and the numbers that the rows of any instance go by. Several
 * processes may use one store; see `revision`.
 */
export class StoredInstances {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** In the order in which they were created. */
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
  create(instance: StoredInstance, nowMs: number): Promise<boolean> {
    return this.change(async (sql) => {
      const others: unknown[] = await sql`SELECT 1 FROM instances WHERE id = ${instance.id}`;
      if (others.length > 0) return false;
      await insert(sql, instance, nowMs);
      return true;
    });
  }

  /** Creates it where there is no other; `false` where somebody was faster. */
  createFirst(instance: StoredInstance, nowMs: number): Promise<boolean> {
    return this.change(async (sql) => {
      const others: unknown[] = await sql`SELECT 1 FROM instances LIMIT 1`;
      if (others.length > 0) return false;
      await insert(sql, instance, nowMs);
      return true;
    });
  }

  /** Changes an instance by what it is; `false` where there is no such instance. */
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

  /** Gives the instance one more secret key; those it has stay valid. `false` if there is no such instance. */
  addKey(id: string, secret: string): Promise<boolean> {
    return this.change(async (sql) => {
      const { count } = await sql`INSERT INTO instance_keys (instance_id, secret, position)
        SELECT id, ${secret},
          (SELECT COALESCE(MAX(position), -1) + 1 FROM instance_keys WHERE instance_id = ${id})
        FROM instances WHERE id = ${id}`;
      return count > 0;
    });
  }

  /** Takes a secret key away, but never the last one. */
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
   * Removes an instance with its secret keys, and gives how many devices go with it; `undefined` where there is
   * no such instance. What its number stands for is forgotten at once, and swept away later. An instance that
   * was in the configuration has a number only, and is removed as well.
   */
  delete(id: string): Promise<number | undefined> {
    return this.change(async (sql) => {
      const [row]: { readonly devices: number }[] = await sql`
        SELECT devices FROM instance_numbers WHERE id = ${id}`;
      await sql`UPDATE instance_numbers SET id = NULL WHERE id = ${id}`;
      const removed = await sql`DELETE FROM instances WHERE id = ${id}`;
      return row === undefined && removed.count === 0 ? undefined : Number(row?.devices ?? 0);
    });
  }

  /** The number that an instance's rows go by: its own from the first time that it is asked for. */
  async numberOf(id: string): Promise<number> {
    return (
      (await numberIn(this.database.read, id)) ??
      (await this.database.write(async (sql) => {
        // Somebody else may ask at the same moment: whoever comes second gets the number of the first.
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

  /** Grows with each change by whomever, so that a running server sees when to look again. */
  revision(): Promise<number> {
    return revisionOf(this.database.read, 'instances');
  }

  private change<T>(statements: (sql: TransactionSQL) => Promise<T>): Promise<T> {
    return this.database.write(async (sql) => {
      // First, because it locks: what the statements then read is not changed by anybody else.
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

/** Puts the rows of each instance together, in the order of the rows. */
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
