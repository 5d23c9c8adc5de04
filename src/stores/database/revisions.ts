import type { SQL } from 'bun';
import { StoreLost } from '../../push/store-faults.ts';

/** What is kept in memory as well by those who use a store, and therefore has a revision. */
export type Revised = 'apps' | 'instances';

/** A row for each: it grows with each change of such a thing, by whomever. */
export const revised: readonly Revised[] = ['apps', 'instances'];

/** Reads a revision. Throws `StoreLost` where there is none: every store that was opened has it. */
export async function revisionOf(sql: SQL, what: Revised): Promise<number> {
  const [row]: { revision: number | string }[] = await sql`
    SELECT revision FROM revisions WHERE what = ${what}`;
  if (row === undefined)
    throw new StoreLost('the store has lost what was in it; restart the server');
  return Number(row.revision);
}
