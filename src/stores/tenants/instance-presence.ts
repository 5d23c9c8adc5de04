import type { SQL } from 'bun';
import { StoreLost } from '../../push/store-faults.ts';

/** Throws `StoreLost` if the store does not know the instance: rows that are not found may be lost. */
export function requireInstance(sql: SQL, instance: number): Promise<void> {
  return requireInstances(sql, new Set([instance]));
}

/** Requires several instances, with one statement. */
export async function requireInstances(sql: SQL, instances: ReadonlySet<number>): Promise<void> {
  const found: unknown[] = await sql`
    SELECT 1 FROM instance_numbers WHERE number IN ${sql([...instances])} AND id IS NOT NULL`;
  if (found.length < instances.size) throw new StoreLost('the store has lost its contents');
}
