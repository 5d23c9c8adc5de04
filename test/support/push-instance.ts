import type { Database } from '../../src/stores/database.ts';

/** Makes an instance that has nothing yet, and gives its number. */
export async function makeInstance(database: Database): Promise<number> {
  const [made]: { number: number | string }[] = await database.write(
    (sql) => sql`
      INSERT INTO instance_numbers (id, devices) VALUES (${crypto.randomUUID()}, 0)
      RETURNING number`,
  );
  return Number(made?.number);
}
