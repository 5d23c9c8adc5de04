import type { SQL } from 'bun';
import { StoreLost } from '../../push/store-faults.ts';
import type { BigInteger } from './rows.ts';

/** Data that servers keep in memory, and that therefore has a revision. */
export type Revised = 'apps' | 'certificates' | 'instances';

/** Each has a row whose revision is increased by each change. */
export const revised: readonly Revised[] = ['apps', 'certificates', 'instances'];

/** Reads a revision. Throws `StoreLost` if it is missing, because every migrated store has it. */
export async function revisionOf(sql: SQL, what: Revised): Promise<number> {
  const [row]: { revision: BigInteger }[] = await sql`
    SELECT revision FROM revisions WHERE what = ${what}`;
  if (row === undefined) throw new StoreLost('the store has lost its contents; restart the server');
  return Number(row.revision);
}
